"""One managed node group of EKS: everything that goes into its launch template and the group itself, and its gate's group."""

from collections.abc import Mapping, Set
from datetime import datetime

from gpufabric.hardware import EksVersion, aws_machines
from gpufabric.plan.aws.capacity import plan_capacity
from gpufabric.plan.aws.cluster import kubernetes_version
from gpufabric.plan.aws.images import ami_release, ami_type, user_data
from gpufabric.plan.aws.lookup import with_window
from gpufabric.plan.aws.model import EksNodeGroupPlan
from gpufabric.plan.aws.names import group_name_problems
from gpufabric.plan.aws.nics import node_interfaces
from gpufabric.plan.aws.regions import foreign_arn, region_of
from gpufabric.plan.aws.reservation import Reservation, reservation_problems
from gpufabric.plan.cloud import FABRIC_EFA
from gpufabric.plan.cloud_group import GPU_TAINT, HOLD_TAINT, disk_problems, node_labels
from gpufabric.plan.machine import group_machine
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import EksGpuNodesSpec, EksNodeGroupSpec


def plan_node_group(
    wish: EksNodeGroupSpec,
    version: EksVersion,
    zone: str,
    tags: Mapping[str, str],
    *,
    now: datetime,
    path: str,
    found: Reservation | None = None,
    zone_at: str = "zone",
) -> EksNodeGroupPlan:
    """The plan of one group; raises :class:`SpecError` with all its problems.

    ``found``: what AWS said of its block. ``zone_at``: path of the zone.
    """
    machine = group_machine(wish, aws_machines(), "AWS", path)
    if isinstance(machine, Problem):
        raise SpecError([machine])
    fabric = wish.network_tier == "best"
    interfaces = node_interfaces(machine, fabric=fabric)
    family, release = ami_type(wish, machine, path), ami_release(wish, version, path)
    problems = [found for found in (family, release) if isinstance(found, Problem)]
    problems += disk_problems(wish, machine, path)
    if wish.public_ip and len(interfaces) > 1:
        reason = f"AWS gives no public address to a machine with {len(interfaces)} network interfaces ({machine.name})"
        fix = "leave it out; nodes reach the internet through the NAT gateway"
        problems.append(Problem(f"{path}.public_ip", reason, fix, "AWS EC2 EFA documentation"))
    if wish.node_role_arn and (foreign := foreign_arn(wish.node_role_arn, region_of(zone), f"{path}.node_role_arn")):
        problems.append(foreign)
    try:
        asked = with_window(wish.capacity, found, f"{path}.capacity") if found else wish.capacity
        capacity = plan_capacity(asked, machine, wish.nodes, fabric=fabric, now=now, path=f"{path}.capacity")
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    if problems:
        raise SpecError(problems)
    plan = EksNodeGroupPlan(
        name=wish.name,
        machine=machine,
        nodes=wish.nodes,
        interfaces=interfaces,
        capacity=capacity,
        ami_type=str(family),
        release_version=str(release),
        user_data=user_data(machine, striped=wish.disk_tier == "best", fabric=fabric),
        labels=node_labels(wish.name, FABRIC_EFA if fabric else None),
        taints=(GPU_TAINT, HOLD_TAINT),
        root_volume_gib=wish.root_volume_gib,
        public_ip=wish.public_ip,
        auto_repair=wish.auto_repair,
        imds_hop_limit=wish.imds_hop_limit,
        zone=zone,
        # MINIMAL takes a node away before it asks for the next one: a full reservation has no room for one more.
        update_strategy="MINIMAL" if capacity.reserved else "DEFAULT",
        tags=tags,
    )
    if found is None:
        return plan
    if misfits := list(reservation_problems(plan, found, zone=zone, path=path, in_use=True, zone_at=zone_at)):
        raise SpecError(misfits)
    return plan


def plan_alone(
    wish: EksGpuNodesSpec, *, now: datetime, path: str, handles: Set[str], found: Reservation | None = None
) -> EksNodeGroupPlan:
    """The plan of a group in an organisation's own stack; raises :class:`SpecError`. ``handles``: ids that were given."""
    problems = [
        Problem(f"{path}.{key}", "missing", "pass the id that your stack has")
        for key in ("cluster_name", "cluster_security_group_id", "subnet_id")
        if key not in handles
    ]
    problems += group_name_problems(path, path)
    if wish.network_tier == "best" and "efa_security_group_id" not in handles:
        reason = "missing: EFA passes only between members of a group that allows all traffic to itself, in and out"
        fix = "pass one (AwsNetwork makes it), or write network_tier: standard"
        problems.append(Problem(f"{path}.efa_security_group_id", reason, fix, "AWS EC2 EFA documentation"))
    version = kubernetes_version(wish.kubernetes_version, f"{path}.kubernetes_version")
    if isinstance(version, Problem):
        raise SpecError([*problems, version])
    try:
        at = f"{path}.zone"
        plan = plan_node_group(wish, version, wish.zone, wish.tags, now=now, path=path, found=found, zone_at=at)
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    if problems:
        raise SpecError(problems)
    return plan
