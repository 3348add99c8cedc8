"""What follows from the capacity of every cloud: where now lies to its window, and what groups ask of one reservation."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from gpufabric.plan.cloud_model import CloudGroupPlan, Phase
from gpufabric.spec import Problem
from gpufabric.spec.cloud import CapacitySpec, instant

_UP_TAKES = timedelta(minutes=45)
"""Ours: a cluster, its add-ons and a node group are made within this. A scheduled action whose time has passed is refused."""


def phase_of(wish: CapacitySpec, now: datetime, *, closes_early_s: int = 0) -> Phase:
    """Where ``now`` (UTC) lies to the window. ``closes_early_s``: the cloud takes the nodes so long before its end.

    A window that opens within an ``up``'s time counts as open: the group asks for its nodes until they come.
    """
    if wish.starts_at and now + _UP_TAKES < instant(wish.starts_at):
        return Phase.BEFORE
    if wish.ends_at and now >= instant(wish.ends_at) - timedelta(seconds=closes_early_s):
        return Phase.AFTER
    return Phase.OPEN


def window_problems(wish: CapacitySpec, path: str) -> list[Problem]:
    """A window the wrong way round."""
    if not wish.starts_at or not wish.ends_at or instant(wish.starts_at) < instant(wish.ends_at):
        return []
    reason = f"the window ends ({wish.ends_at}) before it begins ({wish.starts_at})"
    return [Problem(f"{path}.ends_at", reason, "write a later time")]


def stray_keys(wish: CapacitySpec, kind: str, keys: Sequence[str], others: Sequence[str], path: str) -> list[Problem]:
    """A problem for each of ``keys`` that is set and means nothing with ``kind``; it does with the kinds ``others``."""
    fix = f"leave it out, or write {' or '.join(f'kind: {other}' for other in others)}"
    return [Problem(f"{path}.{key}", f"does not apply to kind: {kind}", fix) for key in keys if getattr(wish, key)]


def sharing(groups: Sequence[CloudGroupPlan]) -> dict[str, list[CloudGroupPlan]]:
    """The groups of each reservation, by its id."""
    by_id: dict[str, list[CloudGroupPlan]] = {}
    for group in groups:
        if group.capacity.reservation_id:
            by_id.setdefault(group.capacity.reservation_id, []).append(group)
    return by_id


def sharing_problems(groups: Sequence[CloudGroupPlan]) -> Iterator[Problem]:
    """Groups that ask one reservation for different machines: it holds one type."""
    for found, together in sharing(groups).items():
        kinds = sorted({group.machine.name for group in together})
        if len(kinds) > 1:
            names = " and ".join(group.name for group in together)
            reason = f"{names} ask {found} for {' and '.join(kinds)}; a reservation holds one type of machine"
            yield Problem("node_groups", reason, "give each group a reservation of its own")
