"""Say what a plan will build and why, as rows of text that the command line prints."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpufabric.plan.model import GroupPlan, GroupsPlan, StackPlan
from gpufabric.plan.queue import QueuePlan
from gpufabric.validation.contract import HOLD_TAINT, LABEL_VALIDATED
from gpufabric.validation.health_wish import FATAL, Health


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what it is about, what was decided, why."""

    subject: str
    decision: str
    why: str


def explain(plan: GroupsPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """Titles and lines: of a cloud's stack first what is made there, then each group."""
    if isinstance(plan, StackPlan):
        yield from _own_cluster(plan)
        return
    from gpufabric.plan.clouds import explain_any

    yield from explain_any(plan)


def explain_group(group: GroupPlan, nodes: Iterable[Line]) -> tuple[str, tuple[Line, ...]]:
    """A group's title and lines; ``nodes``: where its nodes come from."""
    title = f"{group.name}: {group.nodes} nodes of {group.accelerators} on {group.fabric.name}"
    return title, (*nodes, *_lines(group))


def _parts(group: GroupPlan) -> Iterator[Line]:
    """What a fabric of GKE adds to pods."""
    parts, fabric = group.profile.fabric.parts, group.fabric
    if fabric.pod is None:
        return
    rails = ", ".join(fabric.pod.rail_networks(fabric.rails))
    yield Line(
        "rails",
        f"a claim of {fabric.rails} {fabric.pod.device_class}" if fabric.claims else f"an interface for each of {rails}",
        "claimed by resource" if fabric.claims else "in the order of the node pool's networks",
    )
    if parts.sidecar:
        why = f"it works with this plugin alone: {fabric.pod.plugin}"
        yield Line("sidecar", f"{parts.sidecar['name']}, {parts.sidecar['image']}", why)
    if parts.environment_script:
        yield Line("script", f"{parts.environment_script}, before the command", "it holds the vendor's settings of NCCL")


def _own_cluster(plan: StackPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """First the roles of storage, where there are any, then each group."""
    if not plan.storage:
        yield from (explain_group(group, (*_existing(group), *_disks(plan, group))) for group in plan.groups)
        return
    from gpufabric.plan.storage.explain import role_lines, speed_lines  # only for stacks that have roles

    yield f"{plan.stack}: storage", tuple(role_lines(plan.storage))
    for group in plan.groups:
        yield explain_group(group, (*_existing(group), *_disks(plan, group), *speed_lines(plan.storage, group.name)))


def _disks(plan: StackPlan, group: GroupPlan) -> Iterator[Line]:
    """What becomes of the local disks of a group's nodes."""
    wish = plan.local_nvme.get(group.name)
    if wish is None:
        return
    which = f"the {wish.disks} empty NVMe disks" if wish.disks else "empty NVMe disks"
    cleared = f"what is on {', '.join(wish.wipe)} is lost (wipe)" if wish.wipe else "a disk with anything on it is refused"
    yield Line("local NVMe", f"{which} of each node are striped, formatted (xfs) and mounted at {wish.node_path}", cleared)


def _existing(group: GroupPlan) -> Iterator[Line]:
    selector = ", ".join(f"{key}={value}" for key, value in group.node_selector.items())
    yield Line("nodes", f"exactly {group.nodes} nodes labelled {selector}", "they exist; no machine is created")


def _lines(group: GroupPlan) -> Iterator[Line]:
    gate, expected = group.gate, group.gate.gate.expectation
    yield Line("fabric", f"{group.fabric.name} (tier {group.fabric.tier})", group.fabric.source)
    asked = ", ".join(f"{key}: {count}" for key, count in group.profile.fabric.resources.items()) or "no device resource"
    yield Line("pod profile", asked, "the same in the gate and in every job")
    if group.profile.fabric.environment:
        yield Line(
            "environment", ", ".join(f"{k}={v}" for k, v in group.profile.fabric.environment.items()), "set in every job"
        )
    yield from _parts(group)
    if gate.gate.health:
        yield from _health(gate.gate.health)
    yield Line("image of the ranks", gate.gate.image, _promise(expected.backend))
    if inside := gate.gate.inside:
        held = f", at least {inside.floor_busbw_gbytes_per_s:g} GB/s" if inside.floor_busbw_gbytes_per_s else ""
        yield Line(
            "inside a node",
            f"{expected.collective} of {_size(inside.max_bytes)} among {inside.what}, at most {inside.seconds} s{held}",
            inside.floor_source or "no floor is known: complete, and every sum right",
        )
    yield Line(
        "measurement",
        f"{expected.collective} up to {_size(expected.max_bytes)} over {expected.ranks} ranks (backend {expected.backend})",
        "the largest message is judged: small ones fit into buffers and bursts",
    )
    yield Line("floor", f"{expected.floor_busbw_gbytes_per_s:g} GB/s bus bandwidth", expected.floor_source)
    if also := expected.also:
        known = also.floor_busbw_gbytes_per_s
        yield Line(
            "second measurement",
            f"{also.collective} of the same sizes, {f'at least {known:g} GB/s' if known else 'no floor is known for it'}",
            also.floor_source
            or "two nodes could hide a lost rail in an all_reduce; give validation.floor_all_gather_gbytes_per_s",
        )
    if expected.transport_regex:
        yield Line("transport", f"a line matching /{expected.transport_regex}/", "a fallback can pass a low floor")
    yield from _admission(group)
    if group.queue:
        yield from _queue(group.queue)
    yield Line(
        "busy nodes",
        "left as they are (outcome deferred); only a raise of validation.run drains them",
        "a change of what is validated must not disturb who is at work",
    )
    yield Line(
        "deadlines",
        f"nodes {gate.deadlines.nodes_s} s, start {gate.deadlines.ranks_start_s} s, benchmark {gate.deadlines.benchmark_s} s; "
        f"pulumi up gives up after {gate.deadlines.resource_s} s",
        "each clock is longer than the one inside it",
    )
    yield Line(
        "created",
        f"namespace {gate.names.namespace} with the gate's Job {gate.gate.names.coordinator_job}",
        f"run {gate.gate.run}",
    )
    if group.keep:
        yield Line(
            "between deployments",
            f"the controller {gate.names.controller} closes nodes that are not Ready and validates those that come later",
            "a node that joins or reboots would stay closed until the next pulumi up",
        )
    if gate.gate.single_node_ok:
        yield Line(
            "single nodes",
            "a late node is opened by its own measurement alone where no idle partner is there",
            "validation.single_node_ok; its link to the other nodes is then not measured",
        )
    for stand_in in gate.gate.stand_ins:
        yield Line("stand-in", stand_in, "said in the verdict too")


def _queue(queue: QueuePlan) -> Iterator[Line]:
    limit = ", ".join(f"{resource}: {count}" for resource, count in queue.quota.items())
    named = f"LocalQueue {queue.local_queue} in {', '.join(queue.namespaces)}, ClusterQueue {queue.cluster_queue} with {limit}"
    if queue.check:
        asks = f"{queue.check.config_spec['provisioningClassName']} is asked for the nodes of each job, all at once"
        yield Line("queue", named, asks)
        return
    yield Line("queue", named, "opened by the verdict: its capacity is what the nodes that passed have free")
    above_host = queue.levels[:-1]
    yield Line(
        "placement",
        f"close together by {', then '.join(above_host)}" if above_host else "on any free nodes of the group",
        "every node has these labels" if above_host else "scheduler.topology_levels names no level above the host",
    )


def _admission(group: GroupPlan) -> Iterator[Line]:
    """Who runs where, and what keeps others off."""
    if not group.profile.admission.validated:
        why = "nodes that come with a job cannot have been validated before it"
        yield Line("admission", "jobs run on any node of the group, and look at it before they start", why)
        return
    only = f"jobs run only on nodes labelled {LABEL_VALIDATED}={group.profile.admission.validated}"
    yield Line("admission", only, "the gate alone writes that label")
    if group.gate.gate.hold == "taint":
        tainted = f"closed nodes are tainted {HOLD_TAINT['key']}:{HOLD_TAINT['effect']}"
        why = "pods without the profile stay off them too; DaemonSets that they need must tolerate it"
        yield Line("hold", tainted, why)
    else:
        yield Line("hold", "closed nodes are not tainted", "only pods with the profile's admission stay off them")


def _promise(backend: str) -> str:
    if backend == "torch":
        return "the image of your jobs: what was validated includes it"
    return "what was validated is the fabric, not the image of your jobs"


def _health(wish: Health) -> Iterator[Line]:
    """Stage 0: what is looked at on every node, and what it is held against."""
    bad = [name for name in wish.wanted if wish.rule(name).severity == FATAL]
    others = [name for name in wish.wanted if name not in bad]
    said = f"; only said: {', '.join(others)}" if others else ""
    yield Line(
        "node health",
        f"before any network run, on every node; each of these fails the gate: {', '.join(bad)}{said}",
        "a sick node spoils the network run without a name; what cannot be read is said and never passes",
    )
    limits = [
        f"{wish.gpus} GPUs" if wish.gpus else "",
        f"{wish.nvlinks_per_gpu} NVLinks per GPU" if wish.nvlinks_per_gpu else "",
        f"at most {wish.ecc_most_errors} uncorrected ECC errors" if wish.gpus else "",
        f"XIDs of the last {wish.xid_window_s} s" if wish.gpus else "",
        f"dcgmi diag level {wish.dcgm_level}" if wish.gpus else "",
        f"{wish.hcas_per_node} adapters" if wish.hcas_per_node else "",
        f"{wish.hca_gbits_per_s} Gbit/s per port" if wish.hca_gbits_per_s else "",
        f"shared memory of {wish.shm_mib} MiB" if wish.shm_mib else "",
        f"huge pages of {wish.hugepages_mib} MiB" if wish.hugepages_mib else "",
        f"interface {wish.interface}",
    ]
    yield Line("health limits", ", ".join(filter(None, limits)), "each with its source in hardware/data/health.toml")


def _size(size_bytes: int) -> str:
    """4194304 as ``4 MiB``."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:g} {unit}"
    return f"{size_bytes} B"
