"""From a wish for AWS to a plan: all problems of all parts are found here and reported together."""

from collections.abc import Mapping
from datetime import datetime

from gpufabric.hardware import eks_version
from gpufabric.plan.aws.capacity import shared_problems
from gpufabric.plan.aws.cluster import kubernetes_version
from gpufabric.plan.aws.lookup import NOTHING
from gpufabric.plan.aws.model import AwsStackPlan, EksNodeGroupPlan
from gpufabric.plan.aws.names import group_name_problems
from gpufabric.plan.aws.node_group import plan_node_group
from gpufabric.plan.aws.parts import plan_parts
from gpufabric.plan.aws.regions import region_of
from gpufabric.plan.aws.reservation import Reservation
from gpufabric.plan.aws.shelf import shelf
from gpufabric.plan.cloud_group import cost_of
from gpufabric.plan.cloud_stack import plan_stack_parts
from gpufabric.plan.places import zone_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import AwsTrainingSpec


def resolve_aws(
    spec: AwsTrainingSpec, stack: str, *, now: datetime, found: Mapping[int, Reservation] = NOTHING, name: str | None = None
) -> AwsStackPlan:
    """The plan of a stack on AWS at ``now`` (UTC); raises :class:`SpecError` with every problem of every part.

    ``found``: blocks that AWS was asked for (``capacity.lookup``), by the group's position.
    ``name``: of the component, after which cluster and node groups are called; default the stack's.
    """
    name = stack if name is None else name
    problems = zone_problems(spec.zone, spec.region, region_of(spec.zone), f"{spec.region}a")
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
    rest = plan_stack_parts(
        problems,
        groups,
        parts=lambda: plan_parts(spec, groups, name),
        shelf=lambda parts: shelf(spec, parts, groups),
        storage=spec.storage,
        validation=spec.validation,
        stack=stack,
        service="EKS",
    )
    return AwsStackPlan(
        stack=stack,
        region=spec.region,
        zone=spec.zone,
        tags=spec.tags,
        version=version,
        parts=rest.parts,
        node_groups=tuple(groups),
        groups=rest.gates,
        cost=cost_of(AwsStackPlan.cloud, spec.region, groups),
        storage=rest.storage,
    )
