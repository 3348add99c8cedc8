"""From a wish for AWS to a plan: all problems of all parts are found here and reported together."""

from collections.abc import Mapping
from datetime import datetime

from gpufabric.hardware import eks_version
from gpufabric.plan.also import unused_floor_problems
from gpufabric.plan.aws.capacity import shared_problems
from gpufabric.plan.aws.cluster import kubernetes_version
from gpufabric.plan.aws.lookup import NOTHING
from gpufabric.plan.aws.model import AwsStackPlan, EksNodeGroupPlan
from gpufabric.plan.aws.names import group_name_problems
from gpufabric.plan.aws.node_group import gate_group, plan_node_group
from gpufabric.plan.aws.parts import plan_parts
from gpufabric.plan.aws.reservation import Reservation
from gpufabric.plan.cost import Machines, hourly_cost
from gpufabric.plan.inside import kept_problems
from gpufabric.plan.model import GroupPlan
from gpufabric.plan.resolve import resolve_group
from gpufabric.spec import Problem, SpecError, ValidationSpec
from gpufabric.spec.aws import AwsTrainingSpec

CLOUD = "aws"


def resolve_aws(
    spec: AwsTrainingSpec, stack: str, *, now: datetime, found: Mapping[int, Reservation] = NOTHING, name: str | None = None
) -> AwsStackPlan:
    """The plan of a stack on AWS at ``now`` (UTC); raises :class:`SpecError` with every problem of every part.

    ``found``: blocks that AWS was asked for (``capacity.lookup``), by the group's position.
    ``name``: of the component, after which cluster and node groups are called; default the stack's.
    """
    name = stack if name is None else name
    problems = _place_problems(spec)
    version = kubernetes_version(spec.cluster.kubernetes_version, "cluster.kubernetes_version")
    if isinstance(version, Problem):  # the cluster's plan reports it
        version = eks_version()  # the groups' other problems are found with the default one
    groups: list[EksNodeGroupPlan] = []
    for position, wish in enumerate(spec.node_groups):
        problems += group_name_problems(f"{name}-{wish.name}", f"node_groups[{position}].name")
        try:
            at, block = f"node_groups[{position}]", found.get(position)
            groups.append(plan_node_group(wish, version, spec.zone, spec.tags, now=now, path=at, found=block))
        except SpecError as error:
            problems += error.problems
    problems += shared_problems(groups)
    try:
        parts = plan_parts(spec, groups, name)
    except SpecError as error:
        problems += error.problems
    try:
        gates = plan_gates(groups, spec.validation, stack)
    except SpecError as error:
        raise SpecError([*problems, *error.problems]) from None
    if problems:
        raise SpecError(problems)
    machines = [Machines(each.name, each.machine.name, each.nodes, price_of(each)) for each in groups]
    return AwsStackPlan(
        stack=stack,
        region=spec.region,
        zone=spec.zone,
        tags=spec.tags,
        version=version,
        parts=parts,
        node_groups=tuple(groups),
        groups=gates,
        cost=hourly_cost(CLOUD, spec.region, machines),
    )


def plan_gates(groups: list[EksNodeGroupPlan], validation: ValidationSpec, stack: str) -> tuple[GroupPlan, ...]:
    """The gate of each group; raises :class:`SpecError`."""
    plans: list[GroupPlan] = []
    problems = kept_problems(validation)
    if "hold" in validation.model_fields_set and validation.hold != "taint":
        reason = "nodes of EKS are made with the hold's taint, which only a gate with hold: taint takes away"
        problems.append(Problem("validation.hold", reason, "leave it out"))
    for position, group in enumerate(groups):
        wish = group_validation(group, validation)
        try:
            plans.append(resolve_group(gate_group(group), wish, stack, f"node_groups[{position}]"))
        except SpecError as error:
            problems += error.problems
    if problems := problems or unused_floor_problems(validation, plans):
        raise SpecError(problems)
    return tuple(plans)


def group_validation(group: EksNodeGroupPlan, validation: ValidationSpec) -> ValidationSpec:
    """What is measured in one group.

    Nodes are made with the hold's taint, so the gate takes it away. Where nodes may lack it does not wait: pending.
    """
    return validation.model_copy(update={"hold": "taint", **({"wait": False} if group.capacity.may_lack_nodes else {})})


def price_of(group: EksNodeGroupPlan) -> str:
    """Under which price the group runs: a reservation costs what on demand does, a block is paid in advance."""
    return "on_demand" if group.capacity.kind == "reservation" else group.capacity.kind


def _place_problems(spec: AwsTrainingSpec) -> list[Problem]:
    problems = []
    if spec.zone[:-1] != spec.region:
        problems.append(Problem("zone", f"{spec.zone} is not in {spec.region}", f"write a zone such as {spec.region}a"))
    return problems
