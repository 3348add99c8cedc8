"""Pods of this very coordinator that were killed before it had a verdict. A dead node is no verdict on the fabric, so the Job
starts it again (its podFailurePolicy ignores KILLED_CODES); here is what keeps that from going on for ever, and says so.
"""

from collections.abc import Callable
from typing import Final

from gpufabric.validation import contract, gate_json, pods
from gpufabric.validation.api import Api, path
from gpufabric.validation.ending import AGAIN, Undecided

MOST: Final = 3
"""Of one Job. Nodes seldom die twice within a gate; what kills it so often is something else."""
_WANT_OF_MEMORY: Final = "OOMKilled"


def check(api: Api, gate: gate_json.Gate, say: Callable[[str], None]) -> None:
    """Raises Undecided where it was killed for want of memory, or too often: then again would be no better."""
    found = api.list(path("pods", namespace=gate.namespace), labels=f"{pods.JOB_KEY}={gate.names.coordinator_job}")
    killed = [(pod, pod.container(contract.CONTAINER_COORDINATOR)) for pod in map(pods.of, found)]
    killed = [(pod, container) for pod, container in killed if container.exit_code in contract.KILLED_CODES]
    if not killed:
        return
    how = "; ".join(sorted(f"{pod.where} {pods.ended(container)}" for pod, container in killed))
    if any(container.reason == _WANT_OF_MEMORY for _, container in killed):
        raise Undecided(
            f"the coordinator was killed for want of memory: {how}",
            f"it needs little memory, so this is a mistake in gpufabric: please report it with the number of nodes, {AGAIN}",
        )
    if len(killed) >= MOST:
        raise Undecided(
            f"the coordinator was killed {len(killed)} times before it had a verdict: {how}",
            f"look at the nodes outside the groups, where it runs: who kills it, or reboots them? {AGAIN.capitalize()}",
        )
    say(f"starting again: {how}, most likely with its node")
