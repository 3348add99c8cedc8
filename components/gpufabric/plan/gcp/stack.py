"""From a wish for Google Cloud to a plan: all problems of all parts are found here and reported together."""

from datetime import datetime

from gpufabric.hardware import default_gke_version
from gpufabric.plan.capacity import sharing_problems
from gpufabric.plan.cloud_group import cost_of
from gpufabric.plan.cloud_stack import plan_stack_parts
from gpufabric.plan.gcp.model import GcpStackPlan, GkeNodePoolPlan
from gpufabric.plan.gcp.node_pool import plan_node_pool, pool_version_problems
from gpufabric.plan.gcp.parts import plan_parts
from gpufabric.plan.gcp.places import place_problems
from gpufabric.plan.gcp.queue import queued, scheduler_problems
from gpufabric.plan.gcp.shelf import shelf
from gpufabric.plan.gcp.version import kubernetes_version
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp import GcpTrainingSpec


def resolve_gcp(spec: GcpTrainingSpec, stack: str, *, now: datetime, name: str | None = None) -> GcpStackPlan:
    """The plan of a stack on Google Cloud at ``now`` (UTC); raises :class:`SpecError` with every problem of every part.

    ``name``: of the component, after which cluster and node pools are called; default the stack's.
    """
    name = stack if name is None else name
    problems = place_problems(spec.region, spec.zone)
    version = kubernetes_version(spec.cluster.kubernetes_version, "cluster.kubernetes_version")
    if isinstance(version, Problem):  # the cluster's plan reports it
        version = default_gke_version().kubernetes  # the groups' other problems are found with the default one
    groups: list[GkeNodePoolPlan] = []
    for position, wish in enumerate(spec.node_groups):
        try:
            at = f"node_groups[{position}]"
            groups.append(plan_node_pool(wish, spec.project, spec.zone, spec.tags, now=now, path=at))
        except SpecError as error:
            problems += error.problems
    for group in groups:
        problems += pool_version_problems(version, group, "cluster.kubernetes_version")
    problems += sharing_problems(groups)
    if spec.scheduler:
        problems += scheduler_problems(spec.scheduler, groups)
        groups = [queued(group, spec.scheduler) for group in groups]
    rest = plan_stack_parts(
        problems,
        groups,
        parts=lambda: plan_parts(spec, groups, name),
        shelf=lambda parts: shelf(spec, parts, groups),
        storage=spec.storage,
        validation=spec.validation,
        stack=stack,
        service="GKE",
    )
    return GcpStackPlan(
        stack=stack,
        project=spec.project,
        region=spec.region,
        zone=spec.zone,
        tags=spec.tags,
        version=version,
        parts=rest.parts,
        node_groups=tuple(groups),
        groups=rest.gates,
        cost=cost_of(GcpStackPlan.cloud, spec.region, groups),
        storage=rest.storage,
    )
