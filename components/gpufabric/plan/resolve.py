"""From a wish to a plan. All problems of a spec are found here and reported together, before any resource is registered."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpufabric.plan.also import plan_also, unused_floor_problems
from gpufabric.plan.benchmark import Benchmark, decide_benchmark, decide_floor
from gpufabric.plan.collect import kept
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric, group_accelerators, group_fabric, profile_problems
from gpufabric.plan.fabric_pod import pod_annotations, pod_parts
from gpufabric.plan.gate import GateParts, plan_gate
from gpufabric.plan.health import health_problems, plan_health
from gpufabric.plan.images import image_problems
from gpufabric.plan.inside import kept_problems, plan_inside, single_node_problems
from gpufabric.plan.job_preflight import preflight_container, preflight_problems
from gpufabric.plan.memtest import memtest_container, memtest_problems
from gpufabric.plan.model import GroupPlan, StackPlan
from gpufabric.plan.names import gate_names
from gpufabric.plan.placement import MOST_ALTERNATIVES, alternatives
from gpufabric.plan.profile import GPU_TAINT, VALIDATED, PodAdmission, PodFabric, PodProfile, tolerate
from gpufabric.plan.queue import QueuePlan, of_group, plan_queue, pod_queue, queue_problems, shared_name_problems
from gpufabric.spec import GateSpec, NodeGroupSpec, Problem, QueueSpec, SpecError, TrainingSpec, ValidationSpec

if TYPE_CHECKING:
    from gpufabric.plan.storage.model import RolePlan
    from gpufabric.spec.local_nvme import LocalNvmeSpec


def resolve(spec: TrainingSpec, stack: str) -> StackPlan:
    """The plan of a stack; raises :class:`SpecError` with every problem of every group."""
    plans, problems = [], [*_between_groups(spec.node_groups), *kept_problems(spec.validation)]
    heirs = [group for group in spec.node_groups if group.scheduler is None] if spec.scheduler else []
    if spec.scheduler:
        problems += shared_name_problems(spec.scheduler, len(heirs))
    for position, group in enumerate(spec.node_groups):
        at = f"node_groups[{position}]"
        queued = (
            group.model_copy(update={"scheduler": of_group(spec.scheduler)}) if spec.scheduler and group in heirs else group
        )
        try:
            plans.append(
                resolve_group(
                    queued,
                    spec.validation,
                    stack,
                    at,
                    all_groups=spec.node_groups,
                    scheduler_path="scheduler" if group in heirs else "",
                )
            )
        except SpecError as error:
            problems += [problem for problem in error.problems if problem not in problems]  # what all groups share, once
    roles: tuple[RolePlan, ...] = ()
    if spec.storage or spec.stores:
        from gpufabric.plan.storage.own_cluster import plan_own_storage  # only for stacks that have roles

        roles = plan_own_storage(spec, plans, stack, problems)
    local_nvme: Mapping[str, LocalNvmeSpec] = {}
    if spec.local_nvme:
        from gpufabric.plan.local_nvme import of_groups  # only for stacks that have it

        local_nvme = kept(problems, lambda: of_groups(spec)) or {}
    if problems := problems or unused_floor_problems(spec.validation, plans):
        raise SpecError(problems)
    if roles:
        from gpufabric.plan.storage.stack import with_storage

        plans = [*with_storage(plans, roles)]
    return StackPlan(stack=stack, cluster=spec.cluster.existing, groups=tuple(plans), storage=roles, local_nvme=local_nvme)


def resolve_gate(spec: GateSpec, stack: str) -> GroupPlan:
    """The plan of one group in an organisation's own stack; raises :class:`SpecError`."""
    plan = resolve_group(
        spec.node_group, spec.validation, stack, "node_group", all_groups=spec.groups, namespace=spec.namespace
    )
    if problems := unused_floor_problems(spec.validation, [plan]):
        raise SpecError(problems)
    return plan


def resolve_queue(spec: QueueSpec, stack: str) -> QueuePlan:
    """The queue of one group in an organisation's own stack; raises :class:`SpecError`."""
    group, at = spec.node_group, "node_group.scheduler"
    profile = resolve_profile(group, "node_group")
    if group.scheduler is None:
        raise SpecError([Problem(at, "missing", "write {kind: kueue}")])
    accelerators, _ = decide_hardware(group, "node_group")
    return plan_queue(group, group.scheduler, accelerators, profile.fabric, stack=stack, path=at)


def resolve_profile(group: NodeGroupSpec, path: str) -> PodProfile:
    """The pod profile of one group in an organisation's own stack; raises :class:`SpecError`."""
    problems = queue_problems(group, f"{path}.scheduler")
    try:
        accelerators, fabric = decide_hardware(group, path)
    except SpecError as error:
        raise SpecError([*error.problems, *problems]) from None
    if problems:
        raise SpecError(problems)
    return pod_profile(group, accelerators, fabric)


def resolve_group(
    group: NodeGroupSpec,
    validation: ValidationSpec,
    stack: str,
    path: str,
    *,
    all_groups: Sequence[NodeGroupSpec] = (),
    namespace: str | None = None,
    scheduler_path: str = "",
) -> GroupPlan:
    """The plan of one group; raises :class:`SpecError`.

    Args:
        namespace: one that exists instead of the gate's own.
        scheduler_path: where the group's scheduler was said, if not in the group.
    """
    queue_at = scheduler_path or f"{path}.scheduler"
    problems = [*image_problems(group, validation, path), *queue_problems(group, queue_at)]
    try:
        accelerators, fabric = decide_hardware(group, path)
    except SpecError as error:
        raise SpecError([*error.problems, *problems]) from None
    benchmark = decide_benchmark(group, accelerators, fabric, validation, path)
    floor = decide_floor(group, accelerators, fabric, validation, benchmark, path=path)
    problems += [found for found in (benchmark, floor) if isinstance(found, Problem)]
    problems += health_problems(validation.health, "validation.health")
    stage = also = None
    if isinstance(benchmark, Benchmark):
        if group.nodes * benchmark.ranks_per_node == 1:
            problems.append(Problem(f"{path}.nodes", "a single rank has nobody to reduce with", "write 2 or more nodes"))
        stage = plan_inside(group, accelerators, fabric, validation, benchmark)
        also = plan_also(group, accelerators, fabric, validation, benchmark)
        problems += single_node_problems(group, validation, stage, path)
    if problems or isinstance(benchmark, Problem) or isinstance(floor, Problem):
        raise SpecError(problems)
    profile = pod_profile(group, accelerators, fabric)
    scheduler = group.scheduler
    parts = GateParts(
        group=group,
        fabric=fabric,
        profile=profile,
        benchmark=benchmark,
        floor=floor,
        validation=validation,
        groups=[each.node_selector for each in (*all_groups, group)],
        health=plan_health(accelerators, fabric, profile.fabric, validation.health, validation.dcgm_level),
        inside=stage,
        also=also,
    )
    return GroupPlan(
        name=group.name,
        nodes=group.nodes,
        node_selector=group.node_selector,
        accelerators=accelerators,
        fabric=fabric,
        profile=profile,
        floor=floor,
        gate=plan_gate(parts, stack, gate_names(stack, group.name, namespace)),
        keep=validation.keep,
        queue=plan_queue(group, scheduler, accelerators, profile.fabric, stack=stack, path=queue_at) if scheduler else None,
    )


def decide_hardware(group: NodeGroupSpec, path: str) -> tuple[GroupAccelerators, GroupFabric]:
    """What the group's nodes hold and how they are connected; raises :class:`SpecError`."""
    accelerators = group_accelerators(group, path)
    count = 0 if isinstance(accelerators, Problem) else accelerators.count
    fabric = group_fabric(group, count, path)
    problems = [found for found in (accelerators, fabric) if isinstance(found, Problem)] + profile_problems(group, path)
    if not isinstance(accelerators, Problem):
        problems += memtest_problems(group, accelerators, path)
        if not isinstance(fabric, Problem):
            problems += preflight_problems(group, accelerators, fabric, path)
    if problems or isinstance(accelerators, Problem) or isinstance(fabric, Problem):
        raise SpecError(problems)
    return accelerators, fabric


def pod_profile(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric) -> PodProfile:
    """The one profile of the group, for its gate and its jobs; queue and memory test are for jobs alone."""
    of_row = fabric.pod.capabilities if fabric.pod else ()
    parts = pod_parts(fabric)
    pod_fabric = PodFabric(
        resources={**accelerators.resources, **fabric.resources},
        environment=dict(sorted(fabric.environment.items())),  # a list in the pod: its order must not depend on the wish's
        capabilities=("IPC_LOCK",) if fabric.rdma else of_row,  # RDMA pins memory: an unlimited memlock
        shared_memory=accelerators.count > 0,
        tolerations=(*((GPU_TAINT,) if accelerators.count else ()), *map(tolerate, group.tolerates or ())),
        annotations=pod_annotations(fabric, accelerators.count),
        parts=parts,
    )
    queue = pod_queue(group.name, group.scheduler) if group.scheduler else None
    looks = preflight_container(group, accelerators, fabric, parts.mounts), memtest_container(group, accelerators)
    admission = PodAdmission(
        node_selector=group.node_selector,
        validated="" if group.preflight else VALIDATED,
        queue=queue,
        checks=tuple(each for each in looks if each),
    )
    return PodProfile(pod_fabric, admission)


def _between_groups(groups: Sequence[NodeGroupSpec]) -> list[Problem]:
    """Two groups whose selectors could match the same node would both label it; and the gates' coordinators keep off all."""
    problems = []
    for later, group in enumerate(groups):
        for earlier, other in enumerate(groups[:later]):
            shared = group.node_selector.keys() & other.node_selector.keys()
            if all(group.node_selector[key] == other.node_selector[key] for key in shared):
                reason = f"a node can match this and node_groups[{earlier}] ({other.name})"
                fix = "give both one label key with different values"
                problems.append(Problem(f"node_groups[{later}].node_selector", reason, fix))
    if len(alternatives([group.node_selector for group in groups])) > MOST_ALTERNATIVES:
        reason = f"to keep the gate's coordinator off all these groups takes more than {MOST_ALTERNATIVES} rules"
        problems.append(Problem("node_groups", reason, "select each group by one label key that all groups share"))
    return problems
