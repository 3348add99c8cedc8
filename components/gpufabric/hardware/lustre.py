"""What sizes FSx for Lustre sells."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreThroughput(Row):
    """One row of ``data/fsx_lustre.toml``, whose head says what each key means."""

    name: str
    throughput_mbytes_per_s: int
    first_size_gib: int
    step_size_gib: int
    efa_step_size_gib: int

    def nearest_sizes_gib(self, size_gib: int, *, efa: bool) -> tuple[int, ...]:
        """The legal capacity itself, or the nearest below (if there is one) and above."""
        step = self.efa_step_size_gib if efa else self.step_size_gib
        first = step if efa else self.first_size_gib
        below = size_gib // step * step or (first if size_gib >= first else 0)
        if size_gib in (below, first):
            return (size_gib,)
        above = first if size_gib < first else (size_gib // step + 1) * step
        return (below, above) if below else (above,)


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreMetadata(Row):
    """The one row of ``data/fsx_metadata.toml``, whose head says what each key means."""

    name: str
    ops_per_s: tuple[int, ...]
    step_ops_per_s: int
    most_ops_per_s: int

    def nearest_ops_per_s(self, wanted: int) -> tuple[int, ...]:
        """The legal number itself, or the nearest below (if there is one) and above (if there is one)."""
        legal = [*self.ops_per_s, *range(self.step_ops_per_s, self.most_ops_per_s + 1, self.step_ops_per_s)]
        if wanted in legal:
            return (wanted,)
        below, above = [each for each in legal if each < wanted], [each for each in legal if each > wanted]
        return (*below[-1:], *above[:1])


@cache
def lustre_throughputs() -> Mapping[int, LustreThroughput]:
    """All rows by MB/s per TiB."""
    return {row.throughput_mbytes_per_s: row for row in named_rows(LustreThroughput, "fsx_lustre.toml").values()}


@cache
def lustre_metadata() -> LustreMetadata:
    """What metadata performance can be bought."""
    return named_rows(LustreMetadata, "fsx_metadata.toml")["persistent-2"]
