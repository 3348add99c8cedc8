"""Read ``Pulumi.<stack>.yaml``: from a file on disk to a :class:`TrainingSpec`, or all that is wrong with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpufabric.spec.problems import Problem, SpecError
from gpufabric.spec.roadmap import refuse_what_is_not_built
from gpufabric.spec.training import TrainingSpec

CONFIG_KEY = "gpufabric:stack"
"""The one config key of this project; everything a user asks for stands below it."""

_FILE_NAME = re.compile(r"Pulumi\.(?P<stack>[A-Za-z0-9_.-]+)\.ya?ml")
_PULUMI_KEYS = frozenset({"config", "encryptionsalt", "secretsprovider", "encryptedkey", "environment"})


@dataclass(frozen=True, slots=True)
class StackFile:
    """A stack file that was understood: the stack's name and the wish."""

    path: Path
    stack: str
    spec: TrainingSpec


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key written twice: YAML keeps the last one silently, and half a wish is lost."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: dict[Any, yaml.Node] = {}
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)  # type: ignore[no-untyped-call]
        if isinstance(key, str | int) and key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is written twice", key_node.start_mark)
        if isinstance(key, str | int):
            seen[key] = key_node
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def parse_spec(raw: object) -> TrainingSpec:
    """The value of ``gpufabric:stack`` as a spec; raises :class:`SpecError` with every problem."""
    if isinstance(raw, Mapping):
        refuse_what_is_not_built(raw)
    return TrainingSpec.parse(raw)


def read_stack_file(path: Path) -> StackFile:
    """Read one stack file. Raises :class:`SpecError`; its paths begin with the config key."""
    match = _FILE_NAME.fullmatch(path.name)
    if match is None:
        raise SpecError([Problem(str(path), "not the name of a stack file", "name it Pulumi.<stack>.yaml")])
    document = _load_yaml(path)
    if not isinstance(document, Mapping):
        raise SpecError([Problem(str(path), "holds no mapping of keys", f"write config: {{{CONFIG_KEY}: ...}}")])
    if unknown := sorted(str(key) for key in document.keys() - _PULUMI_KEYS):
        raise SpecError(
            [Problem(unknown[0], "unknown key at the top of the file", f"what you ask for stands under config: {CONFIG_KEY}:")]
        )
    config = document.get("config")
    if not isinstance(config, Mapping) or CONFIG_KEY not in config:
        raise SpecError(
            [Problem(f"config.{CONFIG_KEY}", "missing", "everything you ask for stands there; see stacks/Pulumi.local.yaml")]
        )
    if stray := sorted(k for k in config if str(k).startswith("gpufabric:") and k != CONFIG_KEY):
        raise SpecError([Problem(f"config.{stray[0]}", "unknown key", f"the only key of this project is {CONFIG_KEY}")])
    if secure := _secure(config[CONFIG_KEY], ""):
        raise SpecError(
            [Problem(secure, "encrypted by pulumi config set --secret", "nothing here is secret; write the plain value")]
        )
    return StackFile(path, match["stack"], parse_spec(config[CONFIG_KEY]))


def _load_yaml(path: Path) -> object:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise SpecError([Problem(str(path), "no such file", "samples lie in stacks/")]) from None
    except IsADirectoryError:
        raise SpecError([Problem(str(path), "a folder, not a file", "name the Pulumi.<stack>.yaml in it")]) from None
    except PermissionError:
        raise SpecError([Problem(str(path), "not readable by this user", "check its permissions")]) from None
    except UnicodeDecodeError as error:
        raise SpecError([Problem(str(path), f"not UTF-8 text (byte {error.start})", "save it as UTF-8")]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise SpecError(
            [Problem(where, f"malformed YAML: {error.problem}", "check the indentation and quotes there")]
        ) from None
    except yaml.YAMLError as error:
        raise SpecError([Problem(str(path), f"malformed YAML: {' '.join(str(error).split())}")]) from None


def _secure(value: object, path: str) -> str | None:
    if isinstance(value, Mapping):
        if set(value) == {"secure"}:
            return path or CONFIG_KEY
        pairs = [(f"{path}.{k}" if path else str(k), v) for k, v in value.items()]
    elif isinstance(value, list):
        pairs = [(f"{path}[{i}]", v) for i, v in enumerate(value)]
    else:
        return None
    return next((found for p, v in pairs if (found := _secure(v, p))), None)
