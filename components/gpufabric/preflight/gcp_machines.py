"""Whether Google has the machines of a plan in its zone, as the tables say they are, and the network of their fabric."""

from collections.abc import Iterator, Sequence

from gpufabric.hardware import GcpMachine
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.places import region_of
from gpufabric.preflight.gcp_client import Google, Json, last
from gpufabric.spec import Problem

_UP = "UP"


def zone_of(google: Google, plan: GcpStackPlan) -> Json | None:
    """The zone; None where there is no such one, which is said once."""
    return google.find("compute.zones.get", f"projects/{google.project}/zones/{plan.zone}")


def zone(google: Google, plan: GcpStackPlan) -> Iterator[Problem]:
    """A zone that is not there, or down."""
    found = zone_of(google, plan)
    if found is None:
        yield Problem("zone", f"Google has no zone {plan.zone} for {google.project}", "check the zone")
    elif found.get("status") != _UP:
        yield Problem("zone", f"{plan.zone} is {found.get('status')}", "wait, or write another zone")


def machine(google: Google, plan: GcpStackPlan, row: GcpMachine) -> Iterator[Problem]:
    """A machine, or its GPU, that the zone does not have, or that is other than our table says."""
    here = f"projects/{google.project}/zones/{plan.zone}"
    at = _path(plan, row)
    if zone_of(google, plan) is None:
        return
    found = google.find("compute.machineTypes.get", f"{here}/machineTypes/{row.name}")
    if found is None:
        reason = f"Google does not offer {row.name} in {plan.zone}"
        yield Problem(f"{at}.machine_type", reason, _elsewhere(plan, _zones_with(google, row.name)))
        return
    yield from _as_the_table_says(row, found)
    if google.find("compute.acceleratorTypes.get", f"{here}/acceleratorTypes/{row.accelerator_type}") is None:
        reason = f"{plan.zone} has {row.name} and no {row.accelerator_type}, which GKE asks for beside it"
        yield Problem(f"{at}.machine_type", reason, "write another zone")


def network_profile(google: Google, plan: GcpStackPlan, profile: str) -> Iterator[Problem]:
    """The zone's network of RDMA, which only some zones have."""
    name = last(profile)
    if google.find("compute.networkProfiles.get", f"projects/{google.project}/global/networkProfiles/{name}"):
        return
    kind = name.removeprefix(f"{plan.zone}-")
    pages = google.pages("compute.networkProfiles.list", f"projects/{google.project}/global/networkProfiles")
    names = [str(each["name"]) for page in pages for each in page.get("items", ())]
    zones = sorted(each.removesuffix(f"-{kind}") for each in names if each.endswith(f"-{kind}"))
    reason = f"{plan.zone} has no network profile {name}: there is no RDMA"
    yield Problem("zone", reason, _elsewhere(plan, zones), "Google's VPC documentation, RDMA network profiles")


def _as_the_table_says(row: GcpMachine, found: Json) -> Iterator[Problem]:
    """Then the devices that pods ask for, or the disks, would be wrong."""
    gpus = {each["guestAcceleratorType"]: each["guestAcceleratorCount"] for each in found.get("accelerators", ())}
    if gpus and gpus != {row.accelerator_type: row.accelerators}:
        yield _differs(row, ", ".join(f"{count} {kind}" for kind, count in gpus.items()))
    disks = found.get("bundledLocalSsds", {}).get("partitionCount")
    if disks is not None and row.disks_are_bundled and row.local_disks and disks != row.local_disks:
        yield _differs(row, f"{disks} local disks")


def _differs(row: GcpMachine, has: str) -> Problem:
    ours = f"{row.accelerators} {row.accelerator_type} and {row.local_disks} local disks"
    reason = f"Google's {row.name} has {has}, our table says {ours}"
    return Problem("node_groups", reason, "do not deploy with this release; report it", str(row.provenance))


def _zones_with(google: Google, name: str) -> list[str]:
    where = f"projects/{google.project}/aggregated/machineTypes"
    pages = google.pages("compute.machineTypes.list", where, filter=f'name="{name}"')
    found = [scope for page in pages for scope, each in page.get("items", {}).items() if each.get("machineTypes")]
    return sorted(map(last, found))


def _elsewhere(plan: GcpStackPlan, zones: Sequence[str]) -> str:
    """Other zones of the region, or the regions that have some."""
    if near := [each for each in zones if region_of(each) == plan.region]:
        return f"write zone: {' or '.join(near)}"
    regions = sorted(set(map(region_of, zones)))
    return (
        f"no zone of {plan.region} has it; {', '.join(regions)} {'has' if len(regions) == 1 else 'have'}"
        if regions
        else ("no zone that this project sees has it")
    )


def _path(plan: GcpStackPlan, row: GcpMachine) -> str:
    position = next(position for position, group in enumerate(plan.node_groups) if group.machine == row)
    return f"node_groups[{position}]"
