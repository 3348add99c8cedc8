"""What a plan for an existing cluster needs to find: an answer, permissions, the nodes, a place for the coordinator."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufabric.plan import GroupPlan, StackPlan
from gpufabric.plan.queue import API_GROUP
from gpufabric.plan.queue import RESOURCES as QUEUE_RESOURCES
from gpufabric.preflight.buckets import bucket_problems
from gpufabric.preflight.daemonsets import daemonset_problems
from gpufabric.preflight.kubeconfig import KubeconfigError, connect
from gpufabric.preflight.kueue import kueue_problems, level_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.validation.api import Api, ApiError, path
from gpufabric.validation.permissions import may_drain

_OLDEST = (1, 31)  # Job successPolicy is on by default since 1.31 (Kubernetes documentation, Jobs)
_NEEDED: Sequence[tuple[str, str, str]] = (
    ("", "namespaces", "create"),
    ("", "configmaps", "create"),
    ("", "services", "create"),
    ("", "serviceaccounts", "create"),
    ("batch", "jobs", "create"),
    ("networking.k8s.io", "networkpolicies", "create"),
    ("rbac.authorization.k8s.io", "roles", "create"),
    ("rbac.authorization.k8s.io", "rolebindings", "create"),
    ("rbac.authorization.k8s.io", "clusterroles", "create"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "create"),
    ("", "nodes", "patch"),  # nobody can grant the coordinator what he has not himself
    ("", "pods", "list"),
)
_NEEDED_TO_DRAIN = ("", "pods/eviction", "create")
_NEEDED_TO_TAINT = ("apps", "daemonsets", "list")  # for the preflight's own look
_NEEDED_TO_KEEP: Sequence[tuple[str, str, str]] = (
    ("apps", "deployments", "create"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "create"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "create"),
    ("scheduling.k8s.io", "priorityclasses", "create"),
    ("coordination.k8s.io", "leases", "patch"),
)
"""For the controller, where the gate is kept running; the last one is granted to it, so one must have it himself."""
_NEEDED_FOR_DISKS: Sequence[tuple[str, str, str]] = (
    ("apps", "daemonsets", "create"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "create"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "create"),
)
"""For mounts of buckets and for local NVMe: what holds files on nodes is guarded."""
_NEEDED_FOR_VOLUMES = ("storage.k8s.io", "storageclasses", "create")
_CLUSTER = "cluster.existing"
_IMAGES_LISTED = 50  # a node lists no more of its images (kubelet configuration, nodeStatusMaxImages): then nobody knows
_QUANTITY = re.compile(r"([0-9.]+)([a-zA-Z]*)")
_SUFFIXES = defaultdict(float, {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30})


def preflight_kubernetes(plan: StackPlan) -> None:
    """Raise :class:`SpecError` with everything about the cluster that would stop this plan. Changes nothing."""
    try:
        api = connect(plan.cluster.kubeconfig, plan.cluster.context)
        version = api.get("/version")
    except KubeconfigError as error:
        raise SpecError([Problem(_CLUSTER, str(error))]) from None
    except ApiError as error:
        raise SpecError([_unreachable(error)]) from None
    problems = [*_old(version)]
    try:
        problems += _permissions(api, plan)
        problems += kueue_problems(api, plan)
        if _mounts(plan):
            problems += bucket_problems(api, plan)
        nodes = api.list(path("nodes"))
        daemonsets = api.list(path("daemonsets", group="apps")) if any(map(_taints, plan.groups)) else []
    except ApiError as error:
        raise SpecError([*problems, _refused(error) if error.missing_permission else _unreachable(error)]) from None
    members: dict[str, list[Mapping[str, Any]]] = {}
    for position, group in enumerate(plan.groups):
        members[group.name] = [node for node in nodes if _matches(node, group.node_selector)]
        problems += _count(group, members[group.name], f"node_groups[{position}]")
        problems += _capacity(group, members[group.name], f"node_groups[{position}]")
        problems += level_problems(group, members[group.name])
    grouped = {_name(node) for found in members.values() for node in found}
    outside = [node for node in nodes if _name(node) not in grouped]
    hosts = [node for node in outside if _open(node)]
    if not hosts:
        reason = f"no node outside the groups can run the gate's coordinator ({_why_not(outside)})"
        problems.append(Problem("node_groups", reason, "add a small untainted CPU node without the groups' labels"))
    problems += _local_images(plan, members, hosts)
    tainted = [node for group in plan.groups if _taints(group) for node in members[group.name]]
    problems += daemonset_problems(daemonsets, tainted)
    if problems:
        raise SpecError(problems)


def _unreachable(error: ApiError) -> Problem:
    if error.status in (401, 403):
        return Problem(
            _CLUSTER, f"the API server refused this account: {error.message}", "log in again, or use another context"
        )
    if error.status or error.reason == "NotJson":
        return Problem(_CLUSTER, f"the server does not answer like Kubernetes: {error}", "check the server of the context")
    return Problem(_CLUSTER, f"the API server does not answer: {error.message}", "check the context, your VPN and firewalls")


def _refused(error: ApiError) -> Problem:
    reason = f"this account may not {error.missing_permission}"
    return Problem(_CLUSTER, reason, "ask for that permission, or use another context")


def _old(version: Mapping[str, Any]) -> Iterator[Problem]:
    if not version.get("gitVersion"):
        reason = "the server does not answer like Kubernetes: GET /version names no version"
        yield Problem(_CLUSTER, reason, "check the server of the context")
        return
    numbers = tuple(int(re.sub(r"\D", "", str(version.get(part))) or 0) for part in ("major", "minor"))
    if numbers < _OLDEST:
        reason = f"Kubernetes {version['gitVersion']} is too old: the gate's Job needs {_OLDEST[0]}.{_OLDEST[1]} or newer"
        yield Problem(_CLUSTER, reason, "upgrade the cluster", "Kubernetes, Job successPolicy, 2024-08")


def _permissions(api: Api, plan: StackPlan) -> Iterator[Problem]:
    at = path("selfsubjectaccessreviews", group="authorization.k8s.io")
    groups, missing = plan.groups, []
    needed = [*_NEEDED, *(_NEEDED_TO_KEEP if any(group.keep for group in groups) else ())]
    kinds = {kind for group in groups if group.queue for kind in group.queue.kinds}
    needed += [(API_GROUP, plural, "create") for kind, plural in QUEUE_RESOURCES.items() if kind in kinds]
    needed += [_NEEDED_TO_TAINT] if any(map(_taints, groups)) else []
    needed += [_NEEDED_TO_DRAIN] if any(may_drain(group.gate.gate.run) for group in groups) else []
    needed += _NEEDED_FOR_DISKS if plan.local_nvme or _mounts(plan) else []
    needed += [_NEEDED_FOR_VOLUMES] if any(each.local_volume for each in plan.local_nvme.values()) else []
    for group, resource, verb in dict.fromkeys(needed):
        kind, _, part = resource.partition("/")
        attributes = {"group": group, "resource": kind, "subresource": part, "verb": verb}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        if not api.create(at, review).get("status", {}).get("allowed"):
            missing.append(f"{verb} {resource}{f'.{group}' if group else ''}")
    if missing:
        yield Problem(
            _CLUSTER, f"this account may not {', '.join(missing)}", "ask for these permissions, or use another context"
        )


def _mounts(plan: StackPlan) -> bool:
    return any(each.mount for role in plan.storage for each in role.groups)


def _taints(group: GroupPlan) -> bool:
    return group.gate.gate.hold == "taint"


def _count(group: GroupPlan, members: Sequence[Mapping[str, Any]], at: str) -> Iterator[Problem]:
    labels = ",".join(f"{key}={value}" for key, value in group.node_selector.items())
    have = f"{len(members)} nodes are" if len(members) != 1 else "1 node is"
    names = f" ({_listed(members)})" if members else ""
    found = f"{have} labelled {labels}{names}, nodes asks for exactly {group.nodes}"
    if len(members) > group.nodes:
        yield Problem(f"{at}.node_selector", found, f"write nodes: {len(members)}, or a label that fewer nodes have")
    if len(members) < group.nodes and group.gate.gate.wait_for_nodes:
        fix = "label more nodes, ask for fewer, or write validation.wait: false (the verdict is then pending)"
        yield Problem(f"{at}.node_selector", found, fix)


def _capacity(group: GroupPlan, members: Sequence[Mapping[str, Any]], at: str) -> Iterator[Problem]:
    """A node that can never hold a rank pod: the scheduler would say so only after minutes."""
    for resource, count in group.profile.fabric.resources.items():
        short = [node for node in members if _allocatable(node, resource) < _amount(count)]
        if short:
            reason = f"fewer than {count} of {resource} allocatable on {_listed(short)}"
            fix = "check the device plugin there (kubectl describe node), or the accelerators and fabric of the group"
            yield Problem(at, reason, fix)


def _local_images(
    plan: StackPlan, members: Mapping[str, Sequence[Mapping[str, Any]]], hosts: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """An image named ``localhost/...`` has no registry: it is on every node that needs it, or the pods wait for ever."""
    for group in plan.groups:
        gate = group.gate.coordinator_job_spec["template"]["spec"]["containers"][0]["image"]
        for image in sorted({gate, group.gate.gate.image}):
            if not image.startswith("localhost/"):
                continue
            lacking = [node for node in members[group.name] if not _has_image(node, image)]
            if image == gate and hosts and not any(_has_image(n, image) for n in hosts):
                lacking += hosts
            if lacking:
                fix = "load it there (python3 -m tools.image howto), or push it to a registry and name it so"
                yield Problem("validation.image", f"{image} is not on {_listed(lacking)}", fix)


def _allocatable(node: Mapping[str, Any], resource: str) -> float:
    """How much of a resource the node has to give. The API writes 1000 as ``1k``."""
    return _amount(node["status"].get("allocatable", {}).get(resource, 0))


def _amount(quantity: object) -> float:
    match = _QUANTITY.fullmatch(str(quantity))
    return float(match[1]) * _SUFFIXES[match[2]] if match else 0.0


def _has_image(node: Mapping[str, Any], image: str) -> bool:
    images = node["status"].get("images") or []
    return len(images) >= _IMAGES_LISTED or any(image in (each.get("names") or []) for each in images)


def _matches(node: Mapping[str, Any], selector: Mapping[str, str]) -> bool:
    labels = node["metadata"].get("labels", {})
    return all(labels.get(key) == value for key, value in selector.items())


def _open(node: Mapping[str, Any]) -> bool:
    """Whether it takes pods when it is well. A node that is not Ready just now may be soon: the coordinator waits for it."""
    return not node["spec"].get("unschedulable", False) and not any(map(_blocks, node["spec"].get("taints", [])))


def _blocks(taint: Mapping[str, Any]) -> bool:
    """Taints of ``node.kubernetes.io`` say how the node is at the moment; the others are somebody's will."""
    passing = taint.get("key", "").startswith("node.kubernetes.io/") and taint.get("key") != "node.kubernetes.io/unschedulable"
    return taint.get("effect") in ("NoSchedule", "NoExecute") and not passing


def _why_not(outside: Sequence[Mapping[str, Any]]) -> str:
    if not outside:
        return "every node is in a group"
    return ", ".join(f"{_name(n)} is {'cordoned' if n['spec'].get('unschedulable') else 'tainted'}" for n in outside[:5])


def _listed(nodes: Sequence[Mapping[str, Any]], most: int = 10) -> str:
    """Names of nodes; of many the first ones and how many there are."""
    names = sorted(map(_name, nodes))
    return ", ".join(names[:most]) + (f", ... ({len(names)} nodes)" if len(names) > most else "")


def _name(node: Mapping[str, Any]) -> str:
    return str(node["metadata"]["name"])
