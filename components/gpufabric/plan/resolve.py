"""From a wish to a plan. All problems of a spec are found here and reported together, before any resource is registered."""

from gpufabric.plan.benchmark import Benchmark, decide_benchmark, decide_floor
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric, group_accelerators, group_fabric
from gpufabric.plan.gate import GateParts, plan_gate
from gpufabric.plan.model import GroupPlan, StackPlan
from gpufabric.plan.names import gate_names
from gpufabric.plan.profile import GPU_TAINT, PodAdmission, PodFabric, PodProfile
from gpufabric.spec import NodeGroupSpec, Problem, SpecError, TrainingSpec, ValidationSpec


def resolve(spec: TrainingSpec, stack: str) -> StackPlan:
    """The plan of a stack; raises :class:`SpecError` with every problem of every group."""
    plans, problems = [], _overlaps(spec.node_groups)
    for position, group in enumerate(spec.node_groups):
        try:
            plans.append(resolve_group(group, spec.validation, stack, f"node_groups[{position}]", all_groups=spec.node_groups))
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return StackPlan(stack=stack, cluster=spec.cluster.existing, groups=tuple(plans))


def resolve_group(
    group: NodeGroupSpec,
    validation: ValidationSpec,
    stack: str,
    path: str,
    *,
    all_groups: list[NodeGroupSpec] | None = None,
    namespace: str | None = None,
) -> GroupPlan:
    """The plan of one group; raises :class:`SpecError`. ``namespace``: one that exists instead of the gate's own."""
    accelerators, fabric = decide_hardware(group, path)
    benchmark = decide_benchmark(group, accelerators, fabric, validation, path)
    floor = decide_floor(group, accelerators, fabric, validation, path)
    problems = [found for found in (benchmark, floor) if isinstance(found, Problem)]
    problems += _images(validation, fabric)
    if isinstance(benchmark, Benchmark) and group.nodes * benchmark.ranks_per_node == 1:
        problems.append(Problem(f"{path}.nodes", "a single CPU rank has nobody to reduce with", "write 2 or more nodes"))
    if problems or isinstance(benchmark, Problem) or isinstance(floor, Problem):
        raise SpecError(problems)
    profile = pod_profile(group, accelerators, fabric)
    parts = GateParts(
        group=group,
        fabric=fabric,
        profile=profile,
        benchmark=benchmark,
        floor=floor,
        validation=validation,
        others=[other.node_selector for other in all_groups or [group]],
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
    )


def decide_hardware(group: NodeGroupSpec, path: str) -> tuple[GroupAccelerators, GroupFabric]:
    """What the group's nodes hold and how they are connected; raises :class:`SpecError`."""
    accelerators = group_accelerators(group, path)
    if isinstance(accelerators, Problem):
        raise SpecError([accelerators])
    fabric = group_fabric(group, accelerators.count, path)
    if isinstance(fabric, Problem):
        raise SpecError([fabric])
    return accelerators, fabric


def pod_profile(group: NodeGroupSpec, accelerators: GroupAccelerators, fabric: GroupFabric) -> PodProfile:
    """The one profile of the group, for its gate and its jobs."""
    pod_fabric = PodFabric(
        resources={**accelerators.resources, **fabric.resources},
        environment=fabric.environment,
        capabilities=("IPC_LOCK",) if fabric.rdma else (),  # RDMA pins memory: an unlimited memlock
        shared_memory=accelerators.count > 0,
        tolerations=(GPU_TAINT,) if accelerators.count else (),
    )
    return PodProfile(pod_fabric, PodAdmission(node_selector=group.node_selector))


def _images(validation: ValidationSpec, fabric: GroupFabric) -> list[Problem]:
    if validation.image is None:
        fix = "name the gate's image; tools/image builds one (make up prints how to load or push it)"
        return [Problem("validation.image", "missing: coordinator and judge run in it", fix)]
    return [
        Problem(where, f"{image} floats: what was validated must be what runs again", "pin a version tag or a digest")
        for where, image in (("validation.image", validation.image), ("profile.image", fabric.rank_image))
        if image and (image.endswith(":latest") or (":" not in image.rpartition("/")[2] and "@" not in image))
    ]


def _overlaps(groups: list[NodeGroupSpec]) -> list[Problem]:
    """Two groups whose selectors could match the same node would both label it."""
    problems = []
    for later, group in enumerate(groups):
        for earlier, other in enumerate(groups[:later]):
            shared = group.node_selector.keys() & other.node_selector.keys()
            if all(group.node_selector[key] == other.node_selector[key] for key in shared):
                reason = f"a node can match this and node_groups[{earlier}] ({other.name})"
                fix = "give the groups one label key with different values"
                problems.append(Problem(f"node_groups[{later}].node_selector", reason, fix))
    return problems
