"""What sizes Google Cloud Managed Lustre sells."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.grid import nearest_in
from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedLustreTier(Row):
    """One row of ``data/managed_lustre.toml``, whose head says what each key means."""

    name: str
    throughput_mbytes_per_s: int
    step_size_gib: int
    wide_from_gib: int
    wide_step_size_gib: int
    most_size_gib: int

    def nearest_sizes_gib(self, size_gib: int) -> tuple[int, ...]:
        """The legal capacity itself, or the nearest below (if there is one) and above (if there is one)."""
        if size_gib <= self.wide_from_gib or self.wide_from_gib == self.most_size_gib:
            return nearest_in(size_gib, self.step_size_gib, self.step_size_gib, self.wide_from_gib)
        wide = self.wide_step_size_gib
        first = (self.wide_from_gib // wide + 1) * wide
        return (self.wide_from_gib, first) if size_gib < first else nearest_in(size_gib, first, wide, self.most_size_gib)


@cache
def managed_lustre_tiers() -> Mapping[int, ManagedLustreTier]:
    """All rows by MB/s per TiB."""
    return {row.throughput_mbytes_per_s: row for row in named_rows(ManagedLustreTier, "managed_lustre.toml").values()}
