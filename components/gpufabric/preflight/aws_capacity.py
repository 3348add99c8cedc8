"""Whether AWS has the machines of a plan: offered in the zone, as the tables say they are, within the quota, reserved."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from gpufabric.hardware.quotas import aws_quota
from gpufabric.plan.aws import AwsStackPlan
from gpufabric.plan.aws.reservation import Reservation, reservation_problems
from gpufabric.plan.capacity import sharing
from gpufabric.plan.reservation import together_problems
from gpufabric.preflight.aws_client import Aws, AwsError
from gpufabric.spec import Problem


def offered(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """Machines that the zone does not have."""
    types = sorted({group.machine.name for group in plan.node_groups})
    filters = [{"Name": "instance-type", "Values": types}]
    found = aws.ask("ec2", "DescribeInstanceTypeOfferings", LocationType="availability-zone", Filters=filters)
    zones = defaultdict(set)
    for each in found["InstanceTypeOfferings"]:
        zones[each["InstanceType"]].add(each["Location"])
    for position, group in enumerate(plan.node_groups):
        where = sorted(zones[group.machine.name])
        if plan.zone not in where:
            reason = f"AWS does not offer {group.machine.name} in {plan.zone}"
            fix = f"write zone: {' or '.join(where)}" if where else f"no zone of {plan.region} has it: choose another region"
            yield Problem(f"node_groups[{position}].machine_type", reason, fix)


def as_the_tables_say(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """Machines of which AWS says otherwise than our table: then the layout of their interfaces would be wrong."""
    machines = {group.machine.name: group.machine for group in plan.node_groups}
    found = aws.ask("ec2", "DescribeInstanceTypes", InstanceTypes=sorted(machines))
    for each in found["InstanceTypes"]:
        machine, network = machines[each["InstanceType"]], each["NetworkInfo"]
        said = {
            "EFA interfaces": (machine.fabric_devices, network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)),
            "network cards": (machine.network_cards, network.get("MaximumNetworkCards", 1)),
        }
        for what, (ours, theirs) in said.items():
            if ours != theirs:
                reason = f"{machine.name} has {theirs} {what}, our table says {ours}"
                yield Problem("node_groups", reason, "do not deploy with this release; report it", str(machine.provenance))


def quotas(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """Quotas that do not hold the groups. What runs already is not subtracted: AWS has no simple answer to that."""
    needed: dict[str, int] = defaultdict(int)
    groups: dict[str, list[str]] = defaultdict(list)
    for group in plan.node_groups:
        if quota := aws_quota(group.machine.name, group.capacity.kind):
            needed[quota.name] += group.nodes * group.machine.vcpus
            groups[quota.name].append(group.name)
    if not needed:
        return
    found = aws.ask("service-quotas", "ListServiceQuotas", ServiceCode="ec2")
    values = {each["QuotaName"]: int(each["Value"]) for each in found["Quotas"]}
    for name, vcpus in needed.items():
        if name in values and values[name] < vcpus:
            reason = f"{', '.join(groups[name])} need {vcpus} vCPUs; the quota {name!r} is {values[name]} in {plan.region}"
            yield Problem("node_groups", reason, "ask AWS for more (Service Quotas, EC2), which takes days")


def reservations(aws: Aws, plan: AwsStackPlan, *, in_use: bool) -> Iterator[Problem]:
    """Reservations and capacity blocks that do not serve their group."""
    totals: dict[str, int] = {}
    for position, group in enumerate(plan.node_groups):
        wanted = group.capacity.reservation_id
        if wanted is None:
            continue
        path = f"node_groups[{position}]"
        try:
            found = aws.ask("ec2", "DescribeCapacityReservations", CapacityReservationIds=[wanted])["CapacityReservations"]
        except AwsError as error:
            if not error.code.startswith("InvalidCapacityReservationId"):
                raise
            found = []
        if not found:
            reason = f"AWS knows no {wanted} in {plan.region}"
            yield Problem(f"{path}.capacity.id", reason, "check the id, the region, and whose account this is")
            continue
        held = _read(found[0])
        totals[wanted] = held.total
        yield from reservation_problems(group, held, zone=plan.zone, path=path, in_use=in_use)
    for wanted, groups in sharing(plan.node_groups).items():
        if wanted in totals:
            yield from together_problems(groups, wanted, totals[wanted])


def _read(raw: Mapping[str, Any]) -> Reservation:
    return Reservation(
        id=raw["CapacityReservationId"],
        state=raw["State"],
        type=raw.get("ReservationType", "default"),
        machine=raw["InstanceType"],
        zone=raw["AvailabilityZone"],
        total=raw["TotalInstanceCount"],
        free=raw["AvailableInstanceCount"],
        starts_at=raw.get("StartDate"),
        ends_at=raw.get("EndDate"),
        in_placement_group=bool(raw.get("PlacementGroupArn")),
    )
