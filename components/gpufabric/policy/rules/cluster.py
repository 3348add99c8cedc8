"""What a training cluster has beside its nodes: a gate, a health agent, metrics."""

from collections.abc import Iterator
from typing import Final

from gpufabric.policy.groups import ASG, EKS_GROUP, GKE_POOL, fabric_groups, gpu_group, joined
from gpufabric.policy.model import Resource, Setting, Settings, Stack, once, rule
from gpufabric.policy.rules.access import EKS_CLUSTER, GKE_CLUSTER
from gpufabric.policy.rules.nodes import HELM, chart_name
from gpufabric.policy.tree import NotCheckedError
from gpufabric.policy.workloads import EFA, GPU, KUBERNETES, pods_of
from gpufabric.validation.contract import LABEL_VALIDATED

ADDON: Final = "aws:eks/addon:Addon"
GATE: Final = "gpufabric:index:NcclValidation"
FLAVOR: Final = "kubernetes:kueue.x-k8s.io/*:ResourceFlavor"
QUEUE: Final = "kubernetes:kueue.x-k8s.io/*:ClusterQueue"
_BENCHMARKS: Final = ("all_reduce_perf", "all_gather_perf", "nccl-tests", "nccl_tests")


@once
def _has_gate(stack: Stack) -> bool:
    """A gate of ours, or a workload that runs NCCL's benchmark."""
    if any(True for _ in stack.of(GATE)):
        return True
    for resource in stack.of(KUBERNETES):
        for pods in pods_of(resource):
            for each in pods.containers:
                words = " ".join([each["image"].text(), *each["command"].texts(), *each["args"].texts()])
                if any(name in words for name in _BENCHMARKS):
                    return True
    return False


@once
def _come_for_each_job(stack: Stack) -> frozenset[str]:
    """Flavors of queues that ask for nodes when the turn of a job comes: none could carry the gate's label before."""
    found = set()
    for queue in stack.of(QUEUE):
        spec = queue.props["spec"]
        if spec.at("admissionChecksStrategy.admissionChecks").present:
            found |= {each["name"].text() for group in spec["resourceGroups"].items() for each in group["flavors"].items()}
    return frozenset(found)


@rule(
    "nccl-gate-present",
    kinds=(EKS_GROUP, ASG, GKE_POOL, FLAVOR),
    severity="high",
    needs_stack=True,
    why="A fabric that is declared right can still be slow: a bad cable, a wrong image, a sick GPU. Only a measurement tells, "
    "before the first job does.",
    fix="Add NcclValidation for the group (docs/gate.md), or a job of yours that runs nccl-tests; name groups whose gate is in "
    "another stack in `elsewhere`. A queue's flavor selects nodes with the label that the gate sets.",
    settings=(Setting(name="elsewhere", kind="array", of="string", default=[], means="groups with a gate in another stack"),),
)
def nccl_gate_present(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Every group of several nodes with a fabric is measured by a gate, and queues send jobs only to nodes that passed."""
    if resource.kind.startswith("kubernetes:"):
        labels = resource.props.at("spec.nodeLabels")
        name = resource.props.at("metadata.name").text()
        closed = LABEL_VALIDATED in dict(labels.entries()) or name in _come_for_each_job(stack)
        if any(True for _ in stack.of(GATE)) and not closed:
            yield f"the queue's flavor does not ask for the label {LABEL_VALIDATED}: nodes that no gate has passed get jobs"
        return
    group = gpu_group(resource, stack)
    if group is None or not joined(group) or resource.name in settings["elsewhere"]:
        return
    if not _has_gate(stack):
        yield f"{group.nodes} x {group.machine.name} and nothing that measures their network"


@once
def _runs(stack: Stack, *names: str) -> bool:
    """Does a chart or an image of the program carry one of these names?"""
    for release in stack.of(*HELM):
        if any(name in chart_name(release) for name in names):
            return True
    for resource in stack.of(KUBERNETES):
        for pods in pods_of(resource):
            if any(name in each["image"].text() for each in pods.containers for name in names):
                return True
    return False


def _addon(stack: Stack, *names: str) -> bool:
    return any(each.props["addonName"].text() in names for each in stack.of(ADDON))


def _cluster_is_here(group: Resource, stack: Stack) -> bool:
    key, kind = ("clusterName", EKS_CLUSTER) if group.kind == EKS_GROUP else ("cluster", GKE_CLUSTER)
    return bool(stack.linked(group, key, kind))


@rule(
    "health-agent-present",
    kinds=(EKS_GROUP, GKE_POOL),
    severity="high",
    needs_stack=True,
    why="A GPU that falls off the bus, or corrupts sums in silence, is seen by an agent or by a loss curve days later.",
    fix="EKS: the add-on eks-node-monitoring-agent and `nodeRepairConfig.enabled`. GKE: `management.autoRepair`. Elsewhere: "
    "NVIDIA's DCGM exporter or node-problem-detector.",
)
def health_agent_present(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Something watches the health of GPU nodes, and sick ones are repaired or drained."""
    group = gpu_group(resource, stack)
    if group is None or _runs(stack, "node-problem-detector", "dcgm", "gpu-operator"):
        return
    if resource.kind == GKE_POOL:
        # GKE takes no auto-repair with flex-start, whose nodes live for days and are made anew for the next job.
        if group.way != "flex_start" and not resource.props.at("management.autoRepair").flag():
            yield "management.autoRepair is not true, and no health agent is in the program"
        return
    repaired = resource.props.at("nodeRepairConfig.enabled").flag()
    if _addon(stack, "eks-node-monitoring-agent") and repaired:
        return
    if not _cluster_is_here(resource, stack):
        raise NotCheckedError("its cluster and add-ons are not part of this program")
    missing = "nodeRepairConfig.enabled is not true" if not repaired else "the add-on eks-node-monitoring-agent is missing"
    yield missing


@rule(
    "metrics-present",
    kinds=(EKS_GROUP, GKE_POOL),
    severity="low",
    prod="advisory",
    needs_stack=True,
    why="Without GPU and network counters nobody sees why a job became slow.",
    fix="Add NVIDIA's DCGM exporter or GPU operator; on GKE `monitoringConfig.enableComponents: [..., DCGM]`; on EKS the add-on"
    " amazon-cloudwatch-observability.",
)
def metrics_present(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """GPU metrics are exported."""
    if gpu_group(resource, stack) is None or _runs(stack, "dcgm-exporter", "gpu-operator"):
        return
    if _addon(stack, "amazon-cloudwatch-observability", "adot"):
        return
    clusters = list(stack.of(GKE_CLUSTER)) if resource.kind == GKE_POOL else []
    if any("DCGM" in each.props.at("monitoringConfig.enableComponents").texts() for each in clusters):
        return
    if not _cluster_is_here(resource, stack):
        raise NotCheckedError("its cluster is not part of this program")
    yield "no DCGM exporter, GPU operator or cloud add-on for GPU metrics"


@rule(
    "pod-asks-for-fabric",
    kinds=(KUBERNETES,),
    severity="critical",
    needs_stack=True,
    why="A pod that does not ask for the fabric's devices does not get them: the job runs, NCCL uses TCP, and no error appears "
    "(SkyPilot issue 10055).",
    fix="Ask for the machine's EFA devices beside its GPUs, or apply the node group's pod profile (`pod_profile.apply_to`).",
)
def pod_asks_for_fabric(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Jobs over several whole GPU nodes ask for the fabric's devices, too."""
    wanted = [group for group in fabric_groups(stack) if group.cloud == "aws"]
    if not wanted:
        return
    for pods in pods_of(resource):
        gpus = pods.asks(GPU)
        if pods.copies < 2 or not gpus:
            continue
        for group in wanted:
            asked, devices = pods.asks(EFA), group.machine.fabric_devices
            if gpus == group.machine.accelerators and asked < devices:
                yield f"{pods.copies} pods of {gpus} GPUs ask for {asked} {EFA}; {group.machine.name} has {devices}"
                break
