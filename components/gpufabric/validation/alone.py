"""A late node measured alone, by stages 0 and 1, where no idle partner is there and the user said that this is enough."""

from dataclasses import replace
from typing import Any

from gpufabric.validation import contract, gate_json, inside
from gpufabric.validation.pairs import gate_on


def gate_of(gate: gate_json.Gate, node: str, job: str) -> gate_json.Gate:
    """The gate as the rank Job of one node sees it: stage 1 is the measurement, no network run follows."""
    if gate.inside is None:
        raise ValueError("a plan without stage 1 measures no node alone")
    wanted = inside.expectation(gate.inside, gate.expectation.backend, gate.expectation.collective)
    environment = {contract.ENV_RANKS: str(wanted.ranks), contract.ENV_ALONE: "1"}
    found = gate_on(gate, (node,), job, timeouts=gate.timeouts, environment=environment)
    return replace(found, expectation=wanted)


def record(of_run: dict[str, Any]) -> dict[str, Any]:
    """The annotation, and what it rests on; a floor that nobody knows is none."""
    floor = of_run["floor_busbw_gbytes_per_s"] or None
    return {**of_run, "floor_busbw_gbytes_per_s": floor, contract.RESTS_ON: contract.SINGLE_NODE}
