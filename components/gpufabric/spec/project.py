"""Where a Pulumi project keeps the file of a stack."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from gpufabric.spec.problems import Problem, SpecError

_ENDINGS = (".yaml", ".yml")


def find_stack_file(folder: Path, stack: str) -> Path:
    """The file of ``stack`` of the project in ``folder`` or above it, as Pulumi looks for it; raises :class:`SpecError`.

    ``stack`` may be written ``organisation/project/stack``.
    """
    here = folder.absolute()
    for parent in (here, *here.parents):
        for ending in _ENDINGS:
            project = parent / f"Pulumi{ending}"
            if project.is_file():
                return _beside(project, stack.rpartition("/")[2])
    raise SpecError([Problem(str(folder), "no Pulumi.yaml here or above", "name the folder of the project with --cwd")])


def _beside(project: Path, stack: str) -> Path:
    where = project.parent / _config_folder(project)
    for ending in _ENDINGS:
        file = where / f"Pulumi.{stack}{ending}"
        if file.is_file():
            return file
    reason = f"no Pulumi.{stack}.yaml in {where}"
    raise SpecError([Problem(str(project), reason, "check the name of the stack, and stackConfigDir of the project")])


def _config_folder(project: Path) -> str:
    try:
        read = yaml.safe_load(project.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        raise SpecError([Problem(str(project), "cannot be read as YAML", "repair it")]) from None
    found = read.get("stackConfigDir") if isinstance(read, Mapping) else None
    return found if isinstance(found, str) else ""
