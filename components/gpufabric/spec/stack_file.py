"""Read ``Pulumi.<stack>.yaml``: from a file on disk to a :class:`TrainingSpec`, or all that is wrong with it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from gpufabric.spec.problems import Problem, SpecError, dotted, shown
from gpufabric.spec.roadmap import refuse_what_is_not_built
from gpufabric.spec.training import TrainingSpec

if TYPE_CHECKING:
    from gpufabric.spec.aws import AwsTrainingSpec
    from gpufabric.spec.gcp import GcpTrainingSpec

CONFIG_KEY = "gpufabric:stack"
"""The one config key of this project; everything a user asks for stands below it."""

AnyTrainingSpec: TypeAlias = "TrainingSpec | AwsTrainingSpec | GcpTrainingSpec"
"""The wish of a stack, whatever its cloud; ``cloud`` tells them apart."""

_FILE_NAME = re.compile(r"Pulumi\.(?P<stack>[A-Za-z0-9_.-]+)\.ya?ml")
_PULUMI_KEYS = frozenset({"config", "encryptionsalt", "secretsprovider", "encryptedkey", "environment"})


@dataclass(frozen=True, slots=True)
class StackFile:
    """A stack file that was understood: the stack's name and the wish."""

    path: Path
    stack: str
    spec: AnyTrainingSpec


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key written twice: YAML keeps the last one silently, and half a wish is lost."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: dict[Any, yaml.Node] = {}
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, str | int) and key in seen:
            problem = f"the key {shown(key)} is written twice"
            raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
        if isinstance(key, str | int):
            seen[key] = key_node
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_spec(raw: object) -> AnyTrainingSpec:
    """The value of ``gpufabric:stack`` as a spec; raises :class:`SpecError` with every problem of its shape."""
    if not isinstance(raw, Mapping):
        return TrainingSpec.parse(raw)
    problems, rest = refuse_what_is_not_built(raw)
    try:
        spec = _model_of(raw["cloud"]).parse(rest)
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    if problems:
        raise SpecError(problems)
    return spec


def _model_of(cloud: str) -> "type[TrainingSpec | AwsTrainingSpec | GcpTrainingSpec]":
    """The model of a cloud's wish: those of other clouds are not even imported."""
    if cloud == "aws":
        from gpufabric.spec.aws import AwsTrainingSpec

        return AwsTrainingSpec
    if cloud == "gcp":
        from gpufabric.spec.gcp import GcpTrainingSpec

        return GcpTrainingSpec
    return TrainingSpec


def read_stack_file(path: Path) -> StackFile:
    """Read one stack file. Raises :class:`SpecError` with every problem; its paths begin with the file or a key of the file."""
    match = _FILE_NAME.fullmatch(path.name)
    if path.is_dir():
        raise SpecError([Problem(str(path), "a folder, not a file", "name the Pulumi.<stack>.yaml in it")])
    if match is None:
        raise SpecError([Problem(str(path), "not the name of a stack file", "name it Pulumi.<stack>.yaml")])
    document = _load_yaml(path)
    if not isinstance(document, Mapping):
        reason = f"expected a mapping at the top of the file, found {shown(document)}"
        raise SpecError([Problem(str(path), reason, f"write config:, below it {CONFIG_KEY}:, below it what you ask for")])
    strays, raw = _config_value(document)
    try:
        spec = parse_spec(raw)
    except SpecError as error:
        raise SpecError([*strays, *error.below(CONFIG_KEY).problems]) from None
    if strays:
        raise SpecError(strays)
    return StackFile(path, match["stack"], spec)


def _config_value(document: Mapping[Any, Any]) -> tuple[list[Problem], object]:
    """What stands under ``gpufabric:stack``, and problems with keys beside it that nobody reads."""
    problems = [
        Problem(dotted("", [key]), "unknown key at the top of the file", f"what you ask for stands below config: {CONFIG_KEY}:")
        for key in document
        if key not in _PULUMI_KEYS
    ]
    config = document.get("config")
    config = config if isinstance(config, Mapping) else {}
    problems += [
        Problem(f"config.{key}", "unknown key", f"the only key of this project is {CONFIG_KEY}")
        for key in config
        if isinstance(key, str) and key.startswith("gpufabric:") and key != CONFIG_KEY
    ]
    if CONFIG_KEY not in config:
        fix = "what you ask for stands there; stacks/Pulumi.local.yaml is an example"
        raise SpecError([*problems, Problem(f"config.{CONFIG_KEY}", "missing", fix)])
    if secure := list(_secure(config[CONFIG_KEY], CONFIG_KEY)):
        fix = "nothing here is secret; write the plain value"
        raise SpecError([*problems, *(Problem(at, "encrypted by pulumi config set --secret", fix) for at in secure)])
    return problems, config[CONFIG_KEY]


def _load_yaml(path: Path) -> object:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise SpecError([Problem(str(path), "no such file", "samples lie in stacks/")]) from None
    except PermissionError:
        raise SpecError([Problem(str(path), "not readable by this user", "check its permissions")]) from None
    except OSError as error:
        raise SpecError([Problem(str(path), f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise SpecError([Problem(str(path), f"not UTF-8 text (byte {error.start})", "save it as UTF-8")]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        what = str(error.problem or error.context)
        reason = f"malformed YAML: {f'{error.context}, {what}' if what.startswith('but ') else what}"
        raise SpecError([Problem(where, reason, "check indentation, colons and quotes there")]) from None
    except yaml.reader.ReaderError as error:
        reason = f"not text: the character U+{error.character:04X} at position {error.position}"
        raise SpecError([Problem(str(path), reason, "save it as plain UTF-8 text")]) from None
    except ValueError:
        reason = "malformed YAML: a date or number that cannot be"  # 2026-02-30, a number of 5,000 digits
        raise SpecError([Problem(str(path), reason, "put values that are meant as text in quotes")]) from None
    except RecursionError:
        raise SpecError([Problem(str(path), "malformed YAML: nested too deeply", "close the brackets")]) from None


def _secure(value: object, path: str) -> Iterator[str]:
    """Paths of all values that Pulumi has encrypted."""
    if isinstance(value, Mapping):
        if set(value) == {"secure"}:
            yield path
        else:
            for key, item in value.items():
                yield from _secure(item, dotted(path, [key]))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _secure(item, f"{path}[{position}]")
