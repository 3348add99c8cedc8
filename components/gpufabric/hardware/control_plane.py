"""Control plane tiers of EKS."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneTier(Row):
    """One row of ``data/eks_tiers.toml``, whose head says what each key means."""

    name: str
    most_nodes: int


@cache
def control_plane_tiers() -> Mapping[str, ControlPlaneTier]:
    """All tiers, from the smallest to the largest."""
    return named_rows(ControlPlaneTier, "eks_tiers.toml")


def control_plane_tier(nodes: int) -> ControlPlaneTier:
    """The smallest tier for a cluster of ``nodes``; the largest for more than any row knows."""
    rows = list(control_plane_tiers().values())
    return next((row for row in rows if nodes <= row.most_nodes), rows[-1])
