"""gate.json: reads back what it writes, and names every problem."""

import copy
import json
from typing import Any

import pytest

from gpufabric.validation import contract, gate_json
from tests.validation.samples import GATE


def changed(path: str, value: Any) -> str:
    raw = copy.deepcopy(GATE)
    *parents, last = path.split(".")
    at: Any = raw
    for name in parents:
        at = at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return json.dumps(raw)


def test_round_trip() -> None:
    gate = gate_json.parse(json.dumps(GATE))
    assert gate.expectation.floor_busbw_gbytes_per_s == 0.03
    assert gate.names.rank_job == "train-ranks"
    assert gate_json.parse(json.dumps(gate.to_dict())) == gate


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("version", 2, "version 2; this program reads version 1"),
        ("group", ..., "group: missing"),
        ("group", "", "group: must not be empty"),
        ("nodes", 0, "nodes: 0 must be at least 1"),
        ("nodes", "2", "nodes: '2' is not a whole number"),
        ("nodes", True, "nodes: True is not a whole number"),
        ("node_selector", {}, "node_selector: must map at least one label"),
        ("surprise", 1, "surprise: unknown key"),
        ("expectation", [], "expectation: [] is not an object"),
        ("expectation.ranks", None, "expectation.ranks: None is not a whole number"),
        ("expectation.floor_busbw_gbytes_per_s", 0, "must be a number above 0"),
        ("expectation.floor_busbw_gbytes_per_s", "fast", "must be a number above 0"),
        ("expectation.min_bytes", 1 << 40, "is above max_bytes"),
        ("expectation.transport_regex", "(", "not a regular expression"),
        ("expectation.factor", 1, "expectation.factor: 1 must be at least 2"),
        ("timeouts.rank_job_s", -1, "timeouts.rank_job_s: -1 must be at least 1"),
        ("names.verdict", ..., "names.verdict: missing"),
        ("rank_job", {"kind": "Pod"}, "rank_job: must be a batch/v1 Job"),
    ],
)
def test_problems_are_named(path: str, value: Any, says: str) -> None:
    with pytest.raises(gate_json.ContractError) as caught:
        gate_json.parse(changed(path, value))
    assert says in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "null"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(gate_json.ContractError, match=r"gate\.json"):
        gate_json.parse(text)


def test_all_problems_at_once() -> None:
    with pytest.raises(gate_json.ContractError) as caught:
        gate_json.parse('{"version": 1}')
    lines = str(caught.value).splitlines()
    assert {"stack: missing", "nodes: missing", "rank_job: missing", "names.rank_job: missing"} <= set(lines)


def test_shipped_files_hold_the_programs() -> None:
    files = contract.shipped_files()
    assert "contract.py" in files
    assert sum(len(text.encode()) for text in files.values()) < 500_000, "a ConfigMap holds 1 MiB"


def test_a_pairs_clocks_are_shorter_where_the_start_is_long() -> None:
    long = gate_json.Timeouts(nodes_s=900, ranks_start_s=900, benchmark_s=600, rank_job_s=2460)
    assert long.of_pair() == gate_json.Timeouts(nodes_s=900, ranks_start_s=180, benchmark_s=600, rank_job_s=1020)
    short = gate_json.Timeouts(nodes_s=60, ranks_start_s=60, benchmark_s=60, rank_job_s=240)
    assert short.of_pair() == short
