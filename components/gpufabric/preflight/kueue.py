"""What a plan with queues needs to find: Kueue, in a version that serves what is made, the namespaces, the levels' labels."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from gpufabric.plan import GroupPlan, StackPlan
from gpufabric.plan.queue import API_GROUP, API_VERSION, OLDEST_KUEUE, RESOURCES
from gpufabric.preflight.namespaces import namespace_problems
from gpufabric.spec import Problem
from gpufabric.validation.api import Api


def kueue_problems(api: Api, plan: StackPlan) -> Iterator[Problem]:
    """Problems of the cluster as a whole; raises ApiError."""
    queues = {group.queue.path: group.queue for group in plan.groups if group.queue}
    kinds = {kind for queue in queues.values() for kind in queue.kinds}
    for at in list(queues)[:1]:
        yield from _served(api, at, {RESOURCES[kind] for kind in kinds})
    for at, queue in queues.items():
        yield from namespace_problems(api, queue.namespaces, f"{at}.namespaces")


def level_problems(group: GroupPlan, members: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """A node that lacks a level's label is never given out by the queue: jobs would wait, and nothing would say why."""
    if group.queue is None:
        return
    for level in group.queue.levels:
        lacking = sorted(node["metadata"]["name"] for node in members if level not in node["metadata"].get("labels", {}))
        if lacking:
            more = f", ... ({len(lacking)} nodes)" if len(lacking) > 10 else ""
            reason = f"no label {level} on {', '.join(lacking[:10])}{more}: the queue would never give them out"
            yield Problem(f"{group.queue.path}.topology_levels", reason, "label them, or leave this level out")


def _served(api: Api, at: str, needed: Set[str]) -> Iterator[Problem]:
    wanted = f"{API_GROUP}/{API_VERSION}"
    install = f"install Kueue {OLDEST_KUEUE} or newer (https://kueue.sigs.k8s.io/docs/installation), or leave scheduler out"
    group = api.find(f"/apis/{API_GROUP}")
    if group is None:
        yield Problem(at, f"Kueue is not in this cluster: nobody serves {API_GROUP}", install)
        return
    versions = [str(each.get("version")) for each in group.get("versions", [])]
    if API_VERSION not in versions:
        reason = f"Kueue here serves {', '.join(versions) or 'no version'} and not {API_VERSION}"
        yield Problem(at, reason, f"upgrade it to {OLDEST_KUEUE} or newer", "Kueue changelog, 0.15")
        return
    served = {each["name"] for each in (api.find(f"/apis/{wanted}") or {}).get("resources", [])}
    if missing := sorted(needed - served):
        reason = f"Kueue here does not serve {', '.join(missing)} in {wanted}"
        yield Problem(at, reason, f"{install}; its CRDs may have been installed in part")
