"""Whether a reservation of machines, of whatever cloud, holds what the group that names it asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpufabric.plan.cloud_model import CloudGroupPlan
from gpufabric.spec import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a cloud says of a reservation. ``total``: of its instances; ``free``: those that nobody uses."""

    id: str
    machine: str
    zone: str
    total: int
    free: int


def held_problems(
    group: CloudGroupPlan, found: Held, *, zone: str, path: str, zone_at: str = "zone", in_use: bool
) -> Iterator[Problem]:
    """Another machine, another zone, too few. ``path``: of the group; ``zone_at``: of the zone.

    ``in_use``: what is not free does not count against the group, which may hold it itself.
    """
    if found.machine != group.machine.name:
        reason = f"{found.id} holds {found.machine}, the group asks for {group.machine.name}"
        yield Problem(f"{path}.machine_type", reason, f"write {found.machine}, or name another reservation")
    if found.zone != zone:
        yield Problem(zone_at, f"{found.id} is in {found.zone}, the stack in {zone}", f"write zone: {found.zone}")
    if found.total < group.nodes:
        reason = f"{found.id} holds {found.total} instances, the group asks for {group.nodes}"
        yield Problem(f"{path}.nodes", reason, f"write at most {found.total}")
    elif found.free < group.nodes and not in_use:
        reason = f"{found.free} of {found.total} instances of {found.id} are free, the group asks for {group.nodes}"
        yield Problem(f"{path}.nodes", reason, "end what uses the others, or ask for fewer")


def together_problems(groups: Sequence[CloudGroupPlan], name: str, total: int) -> Iterator[Problem]:
    """Groups of one reservation that ask together for more than it holds, though each alone does not."""
    asked = sum(group.nodes for group in groups)
    if len(groups) > 1 and asked > total:
        names = " and ".join(group.name for group in groups)
        yield Problem("node_groups", f"{names} ask {name} for {asked} instances; it holds {total}", "ask for fewer")
