"""Whether the reservation that a group names is there and serves it."""

from collections.abc import Iterator, Sequence

from gpufabric.plan.cloud_model import CloudGroupPlan, Phase
from gpufabric.plan.gcp import GcpStackPlan, GkeNodePoolPlan
from gpufabric.plan.reservation import Held, held_problems, together_problems
from gpufabric.preflight.gcp_client import Google, Json, last
from gpufabric.preflight.questions import UnansweredError
from gpufabric.spec import Problem

_READY = "READY"
_CLOSED = ("LOCAL", "SHARE_TYPE_UNSPECIFIED")
_SPECIFIC = "Compute Engine, Consume a specific reservation"


def reservation(google: Google, plan: GcpStackPlan, group: GkeNodePoolPlan, path: str, *, in_use: bool) -> Iterator[Problem]:
    """All that does not fit. ``path``: of the group. ``in_use``: it may run already, and hold what is not free."""
    wanted = group.capacity.reservation_id or ""
    owner, name, at = wanted.split("/")[1], last(wanted), f"{path}.capacity"
    here = f"projects/{owner}/zones/{plan.zone}/reservations/{name}"
    found = google.find("compute.reservations.get", here)
    if found is None:
        yield from _missing(google, plan, group, owner, at)
        return
    if found.get("status", _READY) != _READY:
        yield Problem(f"{at}.id", f"{name} is {found['status']}", "wait until it is READY, or name another one")
    if not found.get("specificReservationRequired"):
        reason = f"{name} serves any machine that fits: none can ask for it by name"
        yield Problem(f"{at}.id", reason, "make one with --require-specific-reservation", _SPECIFIC)
    if owner != google.project:
        yield from _shared(found, google.project, name, owner, at)
    yield from _machines(found, plan, group, path, in_use=in_use)
    yield from _placement(google, plan, group, found, at)
    if block := _block(group):
        yield from _blocks(google, here, block, group, path, in_use=in_use)


def together(google: Google, plan: GcpStackPlan, groups: Sequence[CloudGroupPlan]) -> Iterator[Problem]:
    """Several groups of one reservation."""
    wanted = groups[0].capacity.reservation_id or ""
    owner, name = wanted.split("/")[1], last(wanted)
    found = google.find("compute.reservations.get", f"projects/{owner}/zones/{plan.zone}/reservations/{name}")
    if found is not None:
        yield from together_problems(groups, name, int(found.get("specificReservation", {}).get("count", 0)))


def _missing(google: Google, plan: GcpStackPlan, group: GkeNodePoolPlan, owner: str, at: str) -> Iterator[Problem]:
    name = last(group.capacity.reservation_id or "")
    if group.capacity.phase is Phase.BEFORE:
        raise UnansweredError(f"{name} is not there yet: it begins later", "look again when it has begun")
    pages = google.pages("compute.reservations.list", f"projects/{owner}/aggregated/reservations", filter=f'name="{name}"')
    zones = sorted({last(scope) for page in pages for scope, each in page.get("items", {}).items() if each.get("reservations")})
    if zones:
        fix = f"write zone: {' or '.join(zones)}"
        yield Problem("zone", f"{name} is in {', '.join(zones)}, the stack in {plan.zone}", fix)
    else:
        yield Problem(f"{at}.id", f"{owner} has no reservation {name}", "check its name, and whose project has it")


def _shared(found: Json, project: str, name: str, owner: str, at: str) -> Iterator[Problem]:
    settings = found.get("shareSettings", {})
    kind, projects = settings.get("shareType", "LOCAL"), settings.get("projectMap", {})
    named = {*projects, *(each.get("projectId") for each in projects.values())}
    numbers = {str(each) for each in named if str(each).isdigit()}
    if kind in _CLOSED or (kind == "SPECIFIC_PROJECTS" and project not in named and not numbers):
        reason = f"{owner} does not share {name} with {project}"
        yield Problem(f"{at}.id", reason, "ask its owner to share it, or name one of your own")
    elif kind == "SPECIFIC_PROJECTS" and project not in named:
        raise UnansweredError(f"{owner} shares {name} with projects that are listed by number", f"ask whether {project} is one")


def _machines(found: Json, plan: GcpStackPlan, group: GkeNodePoolPlan, path: str, *, in_use: bool) -> Iterator[Problem]:
    held: Json = found.get("specificReservation", {})
    machine = held.get("instanceProperties", {}).get("machineType")
    if not machine:
        raise UnansweredError(f"Google does not say what {found['name']} holds", "look for it in the console")
    count, used = int(held.get("count", 0)), int(held.get("inUseCount", 0))
    read = Held(id=str(found["name"]), machine=last(str(machine)), zone=plan.zone, total=count, free=count - used)
    yield from held_problems(group, read, zone=plan.zone, path=path, in_use=in_use)


def _placement(google: Google, plan: GcpStackPlan, group: GkeNodePoolPlan, found: Json, at: str) -> Iterator[Problem]:
    """A policy that the reservation was made with is asked for by name, and none other."""
    made_with = [last(str(each)) for each in found.get("resourcePolicies", {}).values()]
    policy = group.capacity.placement_policy
    if made_with and policy not in made_with:
        reason = f"{found['name']} was made with the placement policy {made_with[0]}: other machines get none of it"
        yield Problem(f"{at}.placement_policy", reason, f"write {made_with[0]}")
    elif policy and not made_with:
        yield Problem(f"{at}.placement_policy", f"{found['name']} was made without a placement policy", "leave it out")
    elif policy:
        where = f"projects/{google.project}/regions/{plan.region}/resourcePolicies/{policy}"
        if google.find("compute.resourcePolicies.get", where) is None:
            reason = f"{google.project} has no placement policy {policy} in {plan.region}"
            yield Problem(f"{at}.placement_policy", reason, "make it there: GKE takes policies of its own project and region")


def _blocks(google: Google, here: str, block: str, group: GkeNodePoolPlan, path: str, *, in_use: bool) -> Iterator[Problem]:
    pages = google.pages("compute.reservationBlocks.list", f"{here}/reservationBlocks")
    blocks = {str(each["name"]): each for page in pages for each in page.get("items", ())}
    at = f"{path}.capacity.block"
    if block not in blocks:
        fix = f"write one of {', '.join(sorted(blocks))}" if blocks else "leave it out"
        yield Problem(at, f"{last(here)} has no block {block}", fix)
        return
    count, used = int(blocks[block].get("count", 0)), int(blocks[block].get("inUseCount", 0))
    if count < group.nodes:
        reason = f"{block} holds {count} instances, the group asks for {group.nodes}"
        yield Problem(f"{path}.nodes", reason, f"write at most {count}, or leave block out")
    elif count - used < group.nodes and not in_use:
        reason = f"{count - used} of {count} instances of {block} are free, the group asks for {group.nodes}"
        yield Problem(f"{path}.nodes", reason, "name another block, or end what uses the others")


def _block(group: GkeNodePoolPlan) -> str:
    values = group.capacity.affinity.values if group.capacity.affinity else ()
    return next((each.partition("/reservationBlocks/")[2] for each in values), "")
