"""Rank Jobs that are still there, the group's and those of pairs: of an earlier run that was killed, of a round that ended.

They hold the nodes' accelerators, and their pods keep others off the nodes, so nothing is measured before they are gone.
"""

import time
from collections.abc import Mapping
from typing import Final

from gpufabric.validation import contract, gate_json, pods
from gpufabric.validation.api import Api, Json, path
from gpufabric.validation.ending import AGAIN, Undecided
from gpufabric.validation.pods import Pod

RANKS: Final = "ranks"


def selector(gate: gate_json.Gate) -> str:
    """Label selector of all rank Jobs of the group and their pods."""
    return ",".join(f"{key}={value}" for key, value in contract.labels(gate.group, RANKS).items())


def jobs(api: Api, gate: gate_json.Gate) -> Mapping[str, Json]:
    """The group's rank Jobs by name."""
    found = api.list(path("jobs", namespace=gate.namespace, group="batch"), labels=selector(gate))
    return {job["metadata"]["name"]: job for job in found}


def rank_pods(api: Api, gate: gate_json.Gate) -> list[Pod]:
    """The pods of all the group's rank Jobs."""
    return [pods.of(raw) for raw in api.list(path("pods", namespace=gate.namespace), labels=selector(gate))]


def delete(api: Api, gate: gate_json.Gate, *, owned_by: str = "") -> None:
    """Delete the group's rank Jobs, or those with an owner of this UID; the pods go in the background."""
    for name, job in jobs(api, gate).items():
        owners = [owner.get("uid") for owner in job["metadata"].get("ownerReferences") or []]
        if owned_by and owned_by not in owners:
            continue
        api.delete(path("jobs", name, namespace=gate.namespace, group="batch"))


def remove(api: Api, gate: gate_json.Gate, *, what: str, poll_s: float, patience_s: float) -> None:
    """Delete the group's rank Jobs and wait until their pods are gone. Raises Undecided if that takes too long."""
    delete(api, gate)
    end = time.monotonic() + patience_s
    while left := [*(f"Job {name}" for name in jobs(api, gate)), *(pod.where for pod in rank_pods(api, gate))]:
        if time.monotonic() >= end:
            more = f" and {len(left) - 4} more" if len(left) > 4 else ""
            raise Undecided(
                f"{what} does not go away within {patience_s:g} s: {', '.join(left[:4])}{more}",
                f"look at it (kubectl describe -n {gate.namespace}), remove it, {AGAIN}",
            )
        time.sleep(poll_s)
