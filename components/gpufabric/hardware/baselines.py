"""Baselines: the bus bandwidth the gate asks for when the spec names no floor."""

from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, listed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(Row):
    """One row of ``data/baselines.toml``. Bandwidths are bus bandwidths in GB/s (1e9 bytes/s); ``size`` is a message size."""

    fabrics: tuple[str, ...]
    accelerators: tuple[str, ...]
    per_node: int
    collective: str
    size: str
    most_nodes: int
    floor_busbw_gbytes_per_s: float
    healthy_busbw_gbytes_per_s: tuple[float, float] | None = None


@cache
def baselines() -> tuple[Baseline, ...]:
    """All baselines, in the order of the table."""
    return tuple(listed_rows(Baseline, "baselines.toml", "baseline"))


def find_baseline(*, fabric: str, accelerator: str, per_node: int, nodes: int, collective: str) -> Baseline | None:
    """The baseline of exactly this hardware, or None: then the user must give a floor, and nothing is guessed."""
    rows = [row for row in _rows_of(fabric, accelerator, per_node, collective) if nodes <= row.most_nodes]
    return min(rows, key=lambda row: row.most_nodes, default=None)


def most_nodes_known(*, fabric: str, accelerator: str, per_node: int, collective: str) -> int:
    """Up to how many nodes the table speaks of this hardware; 0 where it knows nothing."""
    return max((row.most_nodes for row in _rows_of(fabric, accelerator, per_node, collective)), default=0)


def _rows_of(fabric: str, accelerator: str, per_node: int, collective: str) -> list[Baseline]:
    return [
        row
        for row in baselines()
        if fabric in row.fabrics
        and accelerator in row.accelerators
        and row.per_node == per_node
        and row.collective == collective
    ]
