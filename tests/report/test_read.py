"""Verdicts in every form in which one is handed on."""

import json
from typing import Any

import pytest

from gpufabric.report import NoVerdictError, read_verdicts
from tests.report.verdicts import FAIL, PASS, changed

CONFIG_MAP = {
    "kind": "ConfigMap",
    "metadata": {"name": "slow-verdict"},
    "data": {"verdict.json": json.dumps(FAIL), "output.txt": "{}"},
}


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        (PASS, ["train"]),
        ([PASS, FAIL], ["train", "slow"]),
        ({"train": PASS, "slow": FAIL}, ["train", "slow"]),
        ({"pod_profiles": {"train": {"resources": {}}}, "validation": {"train": PASS, "slow": FAIL}}, ["train", "slow"]),
        (CONFIG_MAP, ["slow"]),
        ({"kind": "List", "items": [CONFIG_MAP, CONFIG_MAP]}, ["slow", "slow"]),
        ({"outcome": "fail", "reason": "from nccl parse --json", "table": []}, ["group"]),
        ({"validation": {"named": {"outcome": "unknown", "reason": "killed"}}}, ["named"]),
    ],
    ids=["verdict", "list", "groups", "outputs", "config map", "list of config maps", "nccl parse", "name of the output"],
)
def test_a_verdict_is_found_in_every_form(given: Any, groups: list[str]) -> None:
    assert [each.group for each in read_verdicts(json.dumps(given))] == groups


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "9" * 5_000,
        "null",
        "{}",
        "[]",
        '"pass"',
        '{"outcome": "pass"}',
        '{"outcome": true, "reason": ""}',
        '{"validation": "[secret]"}',
        '{"data": {"verdict.json": "{"}}',
        json.dumps({"a": {"b": {"c": {"d": {"e": {"f": PASS}}}}}}),
    ],
)
def test_no_verdict_is_one_error(text: str) -> None:
    with pytest.raises(NoVerdictError):
        read_verdicts(text)


def test_pulumis_floats_are_whole_numbers_again() -> None:
    (found,) = read_verdicts(json.dumps(changed(PASS, ranks=16.0, size_bytes=8589934592.0, run=3.0)))
    assert (repr(found.ranks), repr(found.size_bytes), repr(found.run)) == ("16", "8589934592", "3")


def test_what_is_no_finite_number_is_not_known() -> None:
    text = '{"outcome": "fail", "reason": "", "busbw_gbytes_per_s": NaN, "latency_us": Infinity, "ranks": true, "run": "3"}'
    (found,) = read_verdicts(text)
    assert (found.busbw_gbytes_per_s, found.latency_us, found.ranks, found.run) == (None, None, None, None)


def test_rows_come_by_size() -> None:
    (found,) = read_verdicts(json.dumps(changed(FAIL, table=[[2048, 1, 2, 3, 0], [1024], [], "x", [None, 1]])))
    assert [row.size_bytes for row in found.table] == [None, 1024, 2048]
    assert found.table[2].out_of_place.busbw_gbytes_per_s == 3
    assert found.table[1].in_place.busbw_gbytes_per_s is None


def test_a_pair_has_two_nodes() -> None:
    pairs = [{"nodes": ["a"]}, {"nodes": ["a", "b", "c"]}, {"nodes": "ab"}, "ab", {"nodes": ["a", 2], "outcome": "good"}]
    (found,) = read_verdicts(json.dumps(changed(FAIL, pairs=pairs)))
    assert [(each.nodes, each.passed, each.round) for each in found.pairs] == [(("a", "2"), True, None)]


def test_node_health_is_read_as_the_gate_writes_it() -> None:
    fatal = {"check": "gpus", "severity": "fatal", "measured": "7", "wanted": "8", "fix": "reset it"}
    health = {
        "n0": {"passed": ["memlock", "shm"], "findings": [], "dropped": 0},
        "n1": {"passed": [], "findings": [fatal], "dropped": 2},
    }
    (found,) = read_verdicts(json.dumps(changed(FAIL, health=health)))
    assert [(each.node, each.what, each.measured, each.wanted, each.severity, each.fix) for each in found.health] == [
        ("n0", "memlock, shm", "as wanted", "", "passed", ""),
        ("n1", "gpus", "7", "8", "fatal", "reset it"),
        ("n1", "", "2 more findings had no room", "", "not shown", ""),
    ]


@pytest.mark.parametrize("odd", [None, 3, "n0", {"n0": 3}, {"n0": {"findings": [3], "passed": 3, "dropped": "x"}}, [3]])
def test_odd_node_health_is_left_out(odd: Any) -> None:
    (found,) = read_verdicts(json.dumps(changed(FAIL, health=odd)))
    assert found.health == ()
