"""Levels of the memory test before a job: what each runs, and how long that takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MemtestLevel(Row):
    """One row of ``data/memtest.toml``, whose head says what each key means."""

    name: str
    dcgm_level: int
    row: str
    takes_s: tuple[int, ...]


@cache
def memtest_levels() -> Mapping[str, MemtestLevel]:
    """All levels by the word a user writes."""
    return named_rows(MemtestLevel, "memtest.toml")
