"""Take a group's nodes for a measurement: close them, idle. Who is on them is disturbed only where somebody asked for it.

Idle nodes are closed. Busy ones are left as they are, and the run ends as `deferred`; but where `validation.run` was raised,
they are drained first: closed and tainted, so that nothing new comes, then emptied through the Eviction API, which honours
disruption budgets and grace periods. What does not succeed until the deadline leaves the nodes as they were.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gpufabric.validation import busy, clock, contract, gate_json, nodes
from gpufabric.validation.api import Api, ApiError, path
from gpufabric.validation.busy import Occupant
from gpufabric.validation.ending import AGAIN, Undecided
from gpufabric.validation.nodes import Group, Node
from gpufabric.validation.ranks import Pace
from gpufabric.validation.words import count, figure, listed

_GONE: Final = (404, 409)
_MOST_TOLD: Final = 300


def settled_run(api: Api, gate: gate_json.Gate) -> int | None:
    """The `validation.run` that needs no drain any more, by the group's last verdict; None if there is none."""
    found = api.find(path("configmaps", gate.names.verdict, namespace=gate.namespace))
    try:
        verdict = json.loads(((found or {}).get("data") or {}).get(contract.VERDICT_KEY, ""))
        run = verdict.get("run_settled", verdict.get("run"))
    except (ValueError, AttributeError, RecursionError):
        return None
    return run if isinstance(run, int) and not isinstance(run, bool) else None


def take(
    api: Api, gate: gate_json.Gate, group: Group, say: Callable[[str], None], pace: Pace, *, raised: bool, end: float
) -> None:
    """Close the group's nodes, idle. `raised`: busy ones are drained, until `end` on the monotonic clock.

    Raises Undecided where they are busy: deferred, or unknown where they could not be drained. Then no node is changed.
    """
    found = busy.on(api, group.names, gate.namespace)
    if found and not raised:
        nodes.reopen(api, [node for node in group.members if node.draining])  # of a run that was killed in a drain
        raise _deferred(group, found)
    tainted = gate.hold == "taint"
    with _or_as_they_were(api, (*group.members, *group.surplus)):
        _close(api, group, taint=tainted, drain=bool(found))
        came = busy.on(api, group.names, gate.namespace)  # between the look and the label
        if came and not raised:
            raise _deferred(group, came)
        if came and not found:
            _close(api, group, taint=True, drain=True)
        if came:
            _drain(api, gate, group, say, pace=pace, end=end)


@contextmanager
def _or_as_they_were(api: Api, members: Sequence[Node]) -> Iterator[None]:
    """SIGTERM too: jobs must not stay locked out of nodes of which nothing was measured."""
    try:
        yield
    except BaseException:
        try:
            nodes.reopen(api, members)
        except ApiError as error:
            print(f"not opened again: {error}", flush=True)
        raise


def _close(api: Api, group: Group, *, taint: bool, drain: bool) -> None:
    """A drain taints whatever the hold is, as `kubectl drain` cordons: evicted pods would come back to where they were."""
    nodes.close(api, group.members, taint=taint or drain, drain="validation.run was raised" if drain else "")
    nodes.close(api, group.surplus, taint=taint)


def _deferred(group: Group, found: Sequence[Occupant]) -> Undecided:
    is_open = [node.name for node in group.members if node.label == "pass" and not node.tainted]
    closed = [name for name in group.names if name not in is_open]
    stay = [f"{listed(names)} {word}" for names, word in ((is_open, "open"), (closed, "closed")) if names]
    busy_nodes = count(len({pod.node for pod in found}), "node")
    return Undecided(
        f"{busy_nodes} busy with other pods: {busy.told(found)}; {last_pass(group)}. "
        f"No node's label was changed: {' and '.join(stay)} as before",
        "nothing now; once the nodes are idle, raise validation.run (gpufabric validate --stack S). "
        "Raised while they are busy, it drains them: their pods are evicted",
        outcome="deferred",
        nodes=group.names,
    )


def last_pass(group: Group) -> str:
    """When the group's nodes last passed, and with which figure."""
    passed = [node.record for node in group.members if node.record is not None and node.record.outcome == "pass"]
    if not passed:
        return "never validated"
    latest = max(passed, key=lambda record: record.at)
    busbw = f" at {figure(latest.busbw_gbytes_per_s)} GB/s" if latest.busbw_gbytes_per_s is not None else ""
    never = len(group.members) - len(passed)
    less = f", {count(never, 'node')} never" if never else ""
    return f"last pass {clock.span(time.time() - latest.at)} ago{busbw}{less}"


def _drain(api: Api, gate: gate_json.Gate, group: Group, say: Callable[[str], None], *, pace: Pace, end: float) -> None:
    """Evict what makes the nodes busy, and wait until it is gone."""
    told, refused = "", dict[str, str]()
    tried: dict[str, float] = {}
    while left := busy.on(api, group.names, gate.namespace):
        state = f"draining: {busy.told(left)}"
        if state != told:
            say(state)
            told = state
        for pod in left:
            now = time.monotonic()
            if pod.controlled and not pod.ending and now - tried.get(pod.uid, -pace.evict) >= pace.evict:
                tried[pod.uid] = now
                refused[pod.uid] = _evict(api, pod)
        if time.monotonic() >= end:
            reasons = [f"{pod.where} {_why(pod, refused.get(pod.uid, ''))}" for pod in left]
            raise Undecided(
                f"validation.run was raised, but {busy.told(left)} did not end within {gate.timeouts.nodes_s} s: "
                f"{'; '.join(reasons)[:_MOST_TOLD]}. No node's label was changed",
                f"end these pods or ease what keeps them (or raise validation.nodes_minutes), {AGAIN}",
                nodes=group.names,
            )
        time.sleep(pace.drain)
    nodes.check_unchanged(group, nodes.find(api, gate.node_selector))


def _evict(api: Api, pod: Occupant) -> str:
    """Why it is refused, or empty. Raises ApiError where the permission is missing."""
    error = api.evict(pod.namespace, pod.name, pod.uid)
    if error is None or error.status in _GONE:
        return ""
    if error.missing_permission:
        raise error
    return error.message


def _why(pod: Occupant, refused: str) -> str:
    if not pod.controlled:
        return "has no controller that would start it again, so it is not evicted"
    return refused or ("is still ending" if pod.ending else "came back")
