"""How a gate run ends: an outcome, why, and what to do next."""

from dataclasses import dataclass
from typing import Final

from gpufabric.validation.api import ApiError
from gpufabric.validation.measurement import Measurement

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
    "exit_code": "read output.txt in the verdict ConfigMap for what went wrong after the measurement, " + AGAIN,
}


@dataclass(frozen=True)
class Ending:
    """Outcome (pass | fail | unknown | pending), reason and fix; the measurement and the nodes where there are any."""

    outcome: str
    reason: str
    fix: str
    nodes: tuple[str, ...] = ()
    measurement: Measurement | None = None


class Undecided(Exception):  # noqa: N818  # an outcome, not an error
    """Ends the run without a verdict on the fabric: unknown, or pending where too few nodes are normal."""

    def __init__(self, reason: str, fix: str, *, outcome: str = "unknown", nodes: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.fix, self.outcome, self.nodes = reason, fix, outcome, nodes


class Stopped(BaseException):
    """SIGTERM: the coordinator's pod is being deleted. A BaseException, so that no handler on the way takes it for an error."""


def of_measurement(measurement: Measurement, nodes: tuple[str, ...]) -> Ending:
    """The judge's word with the advice for its cause."""
    fix = _FIXES.get(measurement.cause, _FIXES["incomplete"])
    if measurement.outcome == "pass":
        fix = "nothing; the nodes are open to jobs"
    return Ending(measurement.outcome, measurement.reason, fix, nodes, measurement)


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
