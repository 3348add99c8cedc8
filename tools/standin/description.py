"""What the stand-in knows about a cloud: one TOML file per provider, ``data/<name>.toml``. A new cloud adds a file, no code."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Kind:
    """One resource type. Paths are dotted; templates have holes like ``{id}``, ``{region}``, ``{hex17}`` or an input's path."""

    id: str
    """Template of the id: the form that the cloud's own ids have."""
    autoname: str = ""
    """Path of the input that gets a name where the program gives none."""
    unique: tuple[str, ...] = ()
    """Paths whose values together belong to one object alone."""
    refers: Mapping[str, str] = field(default_factory=dict)
    """Path -> what its values must name: ``kind``, or ``kind#path`` where it is not the id; alternatives apart by ``|``;
    ``~pattern`` for names that always exist. What is referred to cannot be deleted."""
    mentions: Mapping[str, str] = field(default_factory=dict)
    """The same, for references that do not keep their target from being deleted."""
    replaced_by: tuple[str, ...] = ()
    """Paths whose change needs a new object."""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    """Path -> template of what the cloud adds, where the input says nothing."""
    counts: tuple[str, ...] = ()
    """Numbers among the outputs that every update raises by one."""
    brings: Mapping[str, str] = field(default_factory=dict)
    """Kind -> path of the id of an object that comes and goes with this one."""
    takes_along: tuple[str, ...] = ()
    """Kinds (patterns) whose objects are gone when this one is deleted."""
    takes_holders: tuple[str, ...] = ()
    """Kinds (patterns) whose objects are gone when one that they mention is deleted."""


@dataclass(frozen=True)
class Answer:
    """The answer to an invoke: a template, or the properties of the object of ``kind`` whose ``by`` equals the argument."""

    answer: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    by: str = "id"


@dataclass(frozen=True)
class Description:
    """A provider: its errors' words, its constants, its types and the answers to its invokes."""

    name: str
    constants: Mapping[str, str]
    errors: Mapping[str, str]
    kinds: Mapping[str, Kind]
    invokes: Mapping[str, Answer]
    held: tuple[tuple[str, str, Mapping[str, Any]], ...]
    """What an empty account holds: kind, id, properties."""

    def kind(self, token: str) -> Kind | None:
        """A type by its token; patterns are tried in the file's order."""
        exact = self.kinds.get(token)
        return exact or next((kind for pattern, kind in self.kinds.items() if fnmatchcase(token, pattern)), None)


def read_description(name: str, folder: Path = FOLDER) -> Description:
    """Read a file. A key that means nothing is an error, since a typing mistake would switch a rule off in silence."""
    raw = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    held = raw.pop("held", [])
    found = Description(
        name=name,
        constants=raw.pop("constants", {}),
        errors=raw.pop("errors"),
        kinds={token: Kind(**{k: _frozen(v) for k, v in row.items()}) for token, row in raw.pop("kinds").items()},
        invokes={token: Answer(**row) for token, row in raw.pop("invokes", {}).items()},
        held=tuple((each["kind"], each["id"], each.get("properties", {})) for each in held),
    )
    if raw:
        raise ValueError(f"{name}.toml: unknown tables {', '.join(raw)}")
    return found


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
