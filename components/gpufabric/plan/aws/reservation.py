"""Whether a reservation or capacity block, as AWS describes it, serves the group that names it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gpufabric.plan.aws.model import EksNodeGroupPlan
from gpufabric.plan.reservation import Held, held_problems
from gpufabric.spec import Problem

_USABLE = {"reservation": ("active", "pending"), "capacity_block": ("active", "scheduled", "payment-pending", "pending")}
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_KINDS = {"default": "reservation", "capacity-block": "capacity_block"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Held):
    """``type``: ``default`` or ``capacity-block``."""

    state: str
    type: str
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    in_placement_group: bool = False


def reservation_problems(
    group: EksNodeGroupPlan, found: Reservation, *, zone: str, path: str, in_use: bool, zone_at: str = "zone"
) -> Iterator[Problem]:
    """All that does not fit. ``path``: of the group. ``in_use``: the group may run already, and hold what is not free.

    ``zone_at``: path of the zone, which stands beside the groups of a stack, and among the keys of a group alone.
    """
    at = f"{path}.capacity"
    kind = _KINDS.get(found.type, "reservation")
    if kind != group.capacity.kind:
        yield Problem(f"{at}.kind", f"{found.id} is a {kind.replace('_', ' ')} (AWS: {found.type})", f"write kind: {kind}")
    if found.state not in _USABLE.get(kind, ()):
        yield Problem(f"{at}.id", f"{found.id} is {found.state}", "name one that is active or scheduled")
    used = in_use or found.state != "active"
    yield from held_problems(group, found, zone=zone, path=path, zone_at=zone_at, in_use=used)
    begins, planned = found.starts_at, group.capacity.scale_up
    if begins and planned and begins != planned.at:
        reason = f"{found.id} begins at {begins:{_TIME}}, the group's scale-up is at {planned.at:{_TIME}}"
        yield Problem(f"{at}.starts_at", reason, f"write starts_at: '{begins:{_TIME}}'")
    if found.in_placement_group and group.capacity.placement_group is None and kind == "reservation":
        reason = f"{found.id} was made in a placement group: an instance outside that group gets none of it"
        yield Problem(f"{at}.placement_group", reason, "write the name of that group")
