"""The table format: TOML rows with provenance, read strictly into frozen dataclasses."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Self, TypeVar

_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
KINDS = ("vendor", "measured", "derived")


class TableError(ValueError):
    """A table of this package is malformed: a defect of gpufabric, never of a user's spec."""


class UnknownHardwareError(LookupError):
    """Something was looked up that no table knows. The message lists what is known."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name, self.known = what, name, tuple(sorted(known))
        from difflib import get_close_matches  # only for an error: it costs as much as the rest of this room

        near = get_close_matches(name, self.known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"unknown {what} {name!r}{hint}; known: {', '.join(self.known)}")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a row comes from. ``kind`` is one of ``vendor``, ``measured``, ``derived``; ``as_of`` is ``YYYY-MM``."""

    kind: str
    source: str
    as_of: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.source}, {self.as_of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row of every table has."""

    provenance: Provenance

    @classmethod
    def read(cls, raw: Mapping[str, Any], where: str) -> Self:
        """Build the row from TOML values: every key known, every required key there, provenance complete."""
        values = dict(raw)
        try:
            provenance = Provenance(values.pop("kind"), values.pop("source"), values.pop("as_of"))
        except KeyError as missing:
            raise TableError(f"{where}: no {missing.args[0]!r}; a number without its origin is no fact") from None
        if provenance.kind not in KINDS:
            raise TableError(f"{where}: kind {provenance.kind!r} is not one of {', '.join(KINDS)}")
        if not provenance.source:
            raise TableError(f"{where}: source '' says nothing")
        if not _MONTH.fullmatch(provenance.as_of):
            raise TableError(f"{where}: as_of {provenance.as_of!r} is not YYYY-MM")
        known = {f.name: f for f in fields(cls) if f.name != "provenance"}
        if unknown := values.keys() - known.keys():
            raise TableError(f"{where}: unknown key {', '.join(sorted(unknown))}")
        required = {n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
        if absent := required - values.keys():
            raise TableError(f"{where}: missing {', '.join(sorted(absent))}")
        frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(provenance=provenance, **frozen)


R = TypeVar("R", bound=Row)


@cache
def load(file: str) -> dict[str, Any]:
    """The parsed TOML file ``data/<file>`` of this package; read once, so nobody may change it."""
    return tomllib.loads(files(__package__).joinpath("data", file).read_text(encoding="utf-8"))


def named_rows(cls: type[R], file: str) -> dict[str, R]:
    """A table whose rows are TOML tables: the key is the row's ``name``."""
    return {name: cls.read({"name": name, **raw}, f"{file}[{name}]") for name, raw in load(file).items()}


def listed_rows(cls: type[R], file: str, key: str) -> Iterator[R]:
    """A table whose rows are an array of tables named ``key``."""
    for position, raw in enumerate(load(file)[key]):
        yield cls.read(raw, f"{file}[{position}]")
