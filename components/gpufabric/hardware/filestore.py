"""What sizes Filestore sells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.grid import nearest_in
from gpufabric.hardware.tables import Row, listed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FilestoreBand(Row):
    """A row ``[[band]]`` of ``data/filestore.toml``, whose head says what each key means."""

    tier: str
    api: str
    first_size_gib: int
    step_size_gib: int
    most_size_gib: int
    read_mib_per_s: int | None = None
    write_mib_per_s: int | None = None


@cache
def filestore_bands(tier: str) -> Sequence[FilestoreBand]:
    """The bands of a tier, the smallest capacities first."""
    found = [row for row in listed_rows(FilestoreBand, "filestore.toml", "band") if row.tier == tier]
    return sorted(found, key=lambda row: row.first_size_gib)


def filestore_band(api: str, size_gib: int) -> FilestoreBand:
    """The band that an instance of a legal size lies in; ``api``: the tier in the API's words."""
    rows = listed_rows(FilestoreBand, "filestore.toml", "band")
    return next(row for row in rows if row.api == api and row.first_size_gib <= size_gib <= row.most_size_gib)


def nearest_filestore_sizes_gib(tier: str, size_gib: int) -> tuple[int, ...]:
    """The legal capacity itself, or the nearest below (if there is one) and above (if there is one)."""
    near = [
        size
        for row in filestore_bands(tier)
        for size in nearest_in(size_gib, row.first_size_gib, row.step_size_gib, row.most_size_gib)
    ]
    if size_gib in near:
        return (size_gib,)
    below, above = [each for each in near if each < size_gib], [each for each in near if each > size_gib]
    return (*sorted(below)[-1:], *sorted(above)[:1])
