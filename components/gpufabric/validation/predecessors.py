"""Coordinators of earlier wishes: a killed `up` can leave one that no state remembers. It must not decide, and must not stay.

The name of a coordinator's Job carries a hash of what it validates: the same wish finds its own Job again and takes it over,
another wish gets another Job, and that one removes what it finds of the group's others.
"""

import time
from collections.abc import Callable

from gpufabric.validation import contract, gate_json
from gpufabric.validation.api import Api, path
from gpufabric.validation.ending import AGAIN, Undecided


def remove_predecessors(
    api: Api, gate: gate_json.Gate, say: Callable[[str], None], *, poll_s: float, patience_s: float
) -> None:
    """Delete the group's other coordinator Jobs and wait until their pods are gone, so that nobody else labels the nodes.

    Raises Undecided if one does not go within `patience_s` seconds.
    """
    selector = ",".join(f"{key}={value}" for key, value in contract.labels(gate.group, contract.CONTAINER_COORDINATOR).items())
    jobs, pods = path("jobs", namespace=gate.namespace, group="batch"), path("pods", namespace=gate.namespace)
    others = {job["metadata"]["name"] for job in api.list(jobs, labels=selector)} - {gate.names.coordinator_job}
    for name in sorted(others):
        say(f"removing {name}, left by an earlier run")
        api.delete(f"{jobs}/{name}")
    end = time.monotonic() + patience_s
    while left := [
        pod for pod in api.list(pods, labels=selector) if pod["metadata"]["labels"].get(contract.LABEL_JOB) in others
    ]:
        if time.monotonic() >= end:
            names = ", ".join(pod["metadata"]["name"] for pod in left)
            raise Undecided(
                f"coordinators of earlier runs do not end within {patience_s:g} s: {names}", f"remove them, {AGAIN}"
            )
        time.sleep(poll_s)
