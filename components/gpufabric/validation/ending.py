"""How a gate run ends: an outcome, why, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gpufabric.validation.api import ApiError
from gpufabric.validation.findings import Finding, convicted
from gpufabric.validation.health_report import Report
from gpufabric.validation.localise import PairResult
from gpufabric.validation.measurement import InsideResult, Measurement
from gpufabric.validation.words import listed

AGAIN: Final = "then run `pulumi up` again: a gate that did not pass is run anew"

_FIXES: Final = {
    "slow": (
        "find the slow link: compare NIC speed, error counters and cables of these nodes, repair or replace the node, " + AGAIN
    ),
    "wrong_sums": (
        "data is corrupted on the way or in memory: take the nodes out of service, check ECC and XID errors, IOMMU and ACS, "
        + AGAIN
    ),
    "transport": (
        "the ranks did not use the fabric that was asked for: check its device plugin, the pod profile and the plugin in the "
        "image, " + AGAIN
    ),
    "incomplete": "read output.txt in the verdict ConfigMap, repair what it names, " + AGAIN,
    "inconsistent": "the numbers contradict each other: check the benchmark in the image, " + AGAIN,
    "program": "put what is missing into the image of the ranks, or name another image, " + AGAIN,
    "exit_code": "read output.txt in the verdict ConfigMap for what went wrong after the measurement, " + AGAIN,
}

_BY_A_NODE: Final = ("slow", "wrong_sums")
"""Not the transport: the line of NCCL's log in the reason names the pod, and a pair's line would say no more."""
_NOT_BY_A_NODE: Final = (None, 0, 70, 71, 73, 74)
"""Exit codes of rank.sh for what is the image's or the pod profile's; 0 and none say nothing of a node."""
_NO_PROGRAM: Final = 70


@dataclass(frozen=True)
class Ending:
    """Outcome (pass | fail | unknown | pending | deferred), reason and fix; the measurement and the nodes where there are any.

    `findings` and `pairs`: who it is, where the group did not pass. They name nodes and never change the outcome.
    `health`, `inside`: node -> what stages 0 and 1 found. `by_a_node`: a single node could be the cause, and none is named in
    the reason.
    """

    outcome: str
    reason: str
    fix: str
    nodes: tuple[str, ...] = ()
    measurement: Measurement | None = None
    by_a_node: bool = False
    findings: tuple[Finding, ...] = ()
    pairs: tuple[PairResult, ...] = ()
    health: Mapping[str, Report] = field(default_factory=dict)
    inside: Mapping[str, InsideResult] = field(default_factory=dict)

    def label(self, node: str) -> str:
        """The label of one node: `fail` for a node that is named; the others are then not what failed, and did not pass."""
        named = convicted(self.findings)
        if not named:
            return self.outcome
        return "fail" if node in named else "unknown"

    def why(self, node: str) -> str:
        """What the findings say of one node; empty where there are none."""
        own = [each.text for each in self.findings if node in each.nodes]
        if own:
            return "; ".join(own)
        named = convicted(self.findings)
        if named:
            return f"not named: the group did not pass because of {listed(named)}"
        return "; ".join(each.text for each in self.findings if not each.nodes)


class Undecided(Exception):  # noqa: N818  # an outcome, not an error
    """Ends the run without a verdict on the fabric: unknown; pending: too few nodes, as is normal; deferred: busy nodes."""

    def __init__(
        self, reason: str, fix: str, *, outcome: str = "unknown", nodes: tuple[str, ...] = (), by_a_node: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.fix, self.outcome, self.nodes, self.by_a_node = reason, fix, outcome, nodes, by_a_node


class Stopped(BaseException):
    """SIGTERM: the coordinator's pod is being deleted. A BaseException, so that no handler on the way takes it for an error."""


def of_undecided(found: Undecided, names: tuple[str, ...]) -> Ending:
    """`names`: the nodes that it is about where it names none itself."""
    return Ending(found.outcome, found.reason, found.fix, found.nodes or names, by_a_node=found.by_a_node)


def of_measurement(measurement: Measurement, nodes: tuple[str, ...], *, explained: bool = False) -> Ending:
    """The judge's word with the advice for its cause. `explained`: the reason already names a pod that ended."""
    cause = "program" if measurement.exit_code == _NO_PROGRAM else measurement.cause
    fix = _FIXES.get(cause, _FIXES["incomplete"])
    if measurement.outcome == "pass":
        fix = "nothing; the nodes are open to jobs"
    by_a_node = not explained and (
        (measurement.outcome == "fail" and measurement.cause in _BY_A_NODE)
        or (measurement.outcome == "unknown" and measurement.exit_code not in _NOT_BY_A_NODE)
    )
    return Ending(measurement.outcome, measurement.reason, fix, nodes, measurement, by_a_node)


def with_findings(found: Ending, findings: tuple[Finding, ...], pairs: tuple[PairResult, ...] = ()) -> Ending:
    """The ending with the search's result, and the advice that follows from it."""
    fix, names = found.fix, convicted(findings)
    kinds = {each.kind for each in findings}
    if "slow_fabric" in kinds:
        fix = f"look at what all nodes share (switches, MTU, congestion control, adaptive routing) and at the floor, {AGAIN}"
    elif kinds & {"slow_node", "slow_pair"} and found.measurement and found.measurement.cause == "slow":
        fix = f"compare NIC speed, error counters and cables of {listed(names)} with a good node's, repair or replace, {AGAIN}"
    return replace(found, fix=fix, findings=findings, pairs=pairs)


def of_api_error(error: ApiError, nodes: tuple[str, ...] = ()) -> Ending:
    """A request to the API server that failed."""
    if error.missing_permission:
        reason = f"the gate's service account may not {error.missing_permission} ({error.message})"
        fix = f"give it that permission (the gate's Role and ClusterRole are part of the stack: were they changed?), {AGAIN}"
        return Ending("unknown", reason, fix, nodes)
    if error.status == 0:
        return Ending(
            "unknown", f"the API server did not answer: {error}", f"check the cluster's control plane, {AGAIN}", nodes
        )
    return Ending(
        "unknown", f"the API server refused a request: {error}", f"read its message, repair what it names, {AGAIN}", nodes
    )


def of_internal_error(error: BaseException, nodes: tuple[str, ...] = ()) -> Ending:
    """A mistake in this program; never shown as a bare traceback."""
    reason = f"internal error in the gate's coordinator: {type(error).__name__}: {error}"
    fix = "this is a mistake in gpufabric: please report it with the coordinator's log (kubectl logs)"
    return Ending("unknown", reason, fix, nodes)
