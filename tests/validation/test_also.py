"""A second collective in the same run: both must pass, and the reason names the one that did not."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.validation import contract, ending, findings, gate_json, measurement, report, sidecar
from gpufabric.validation.also import judge_run
from gpufabric.validation.also_wish import Also
from gpufabric.validation.gate_json import Expectation
from gpufabric.validation.judge import judge
from tests.validation.printer import Sheet, healthy, last_row
from tests.validation.samples import GATE

ALSO = Also("all_gather", 0.03, "given in the spec")
WANTED = Expectation("nccl", "all_reduce", 16, 8, 1024, 1 << 24, 4, 0.05, "given in the spec", also=ALSO)
NO_FLOOR = replace(WANTED, also=Also("all_gather"))
REDUCE = healthy(16)


def gather(busbw: float = 0.04) -> Sheet:
    return healthy(16, "all_gather", busbw)


def both(first: str, second: str) -> str:
    """What index 0 leaves in shared/output."""
    return f"{first}\n{contract.ALSO_MARKER}\n{second}"


def test_both_pass() -> None:
    found = judge_run(both(REDUCE.text(), gather().text()), WANTED, exit_code=0)
    assert found.outcome == "pass"
    assert found.reason == (
        "all_reduce: busbw 0.06 GB/s at 16 MiB, at least 0.05 GB/s; all_gather: busbw 0.04 GB/s at 16 MiB, at least 0.03 GB/s"
    )
    assert found.busbw_gbytes_per_s == pytest.approx(0.06), "the figures of a measurement are the all_reduce's"
    assert len(found.table) == 8
    assert found.also is not None
    assert (found.also.collective, found.also.outcome, found.also.size_bytes) == ("all_gather", "pass", 1 << 24)
    assert found.also.busbw_gbytes_per_s == pytest.approx(0.04)
    assert measurement.parse(found.to_json()) == found


def test_a_run_of_one_collective_is_judged_as_ever() -> None:
    alone = replace(WANTED, also=None)
    for text in (REDUCE.text(), gather().text(), both(REDUCE.text(), gather().text()), ""):
        assert judge_run(text, alone, exit_code=0) == judge(text, alone, exit_code=0)


GOOD = REDUCE.text()
SLOW = healthy(16, busbw=0.04).text()
CASES = {
    "the second is slow": (both(GOOD, gather(0.02).text()), 0, "fail", "slow", "all_gather: busbw 0.02 GB/s"),
    "the first is slow": (both(SLOW, gather().text()), 0, "fail", "slow", "all_reduce: busbw 0.04 GB/s"),
    "wrong data": (both(GOOD, last_row(gather(), wrong="4").text()), 0, "fail", "wrong_sums", "all_gather: wrong sums"),
    "slow, and wrong data": (both(SLOW, last_row(gather(), wrong="4").text()), 0, "fail", "wrong_sums", "all_reduce: busbw"),
    "no second": (GOOD, 0, "unknown", "incomplete", "all_gather: it did not run"),
    "nothing of the second": (both(GOOD, ""), 9, "unknown", "incomplete", "all_gather: no rows in the output; the benchmark"),
    "the second is cut": (both(GOOD, gather().text()[:-200]), 0, "unknown", "incomplete", "all_gather: "),
    "the second crashed at its end": (both(GOOD, gather().text()), 9, "unknown", "exit_code", "all_gather: the table is comp"),
    "the second is the first again": (both(GOOD, GOOD), 0, "unknown", "incomplete", "all_gather: the output is of all_reduce"),
    "the wrong order": (both(gather().text(), GOOD), 0, "unknown", "incomplete", "all_reduce: the output is of all_gather"),
    "three parts": (both(GOOD, both(gather().text(), gather().text())), 0, "unknown", "incomplete", "all_gather: 2 footers"),
    "no marker": (GOOD + gather().text(), 0, "unknown", "incomplete", "all_reduce: "),
    "the first gave nothing": ("", 1, "unknown", "incomplete", "all_reduce: no rows in the output"),
    "the first is cut, the second slow": (both(GOOD[:-200], gather(0.02).text()), 0, "fail", "slow", "all_gather: busbw"),
}


@pytest.mark.parametrize(("text", "code", "outcome", "cause", "says"), CASES.values(), ids=CASES)
def test_both_must_pass(text: str, code: int, outcome: str, cause: str, says: str) -> None:
    found = judge_run(text, WANTED, exit_code=code)
    assert (found.outcome, found.cause) == (outcome, cause)
    assert found.reason.startswith(says)
    assert found.exit_code == code


def test_an_error_of_the_script_is_told_once() -> None:
    found = judge_run("", WANTED, exit_code=70, error="the image has no all_gather_perf (the second benchmark)")
    assert found.reason == "all_reduce: the image has no all_gather_perf (the second benchmark) (exit code 70)"


def test_the_transport_must_be_seen_in_both() -> None:
    wanted = replace(WANTED, transport_regex="NET/IB")
    line = ("h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0",)
    first, second = replace(REDUCE, before_rows=line), replace(gather(), before_rows=line)
    assert judge_run(both(first.text(), second.text()), wanted, exit_code=0).outcome == "pass"
    found = judge_run(both(first.text(), gather().text()), wanted, exit_code=0)
    assert (found.outcome, found.cause) == ("unknown", "transport")
    assert found.reason.startswith("all_gather: the output says nothing of the transport")


def test_without_a_floor_the_second_must_be_complete_and_right() -> None:
    found = judge_run(both(GOOD, gather(0.001).text()), NO_FLOOR, exit_code=0)
    assert found.outcome == "pass"
    assert found.reason.endswith("all_gather: busbw 0.001 GB/s at 16 MiB; no floor is known for it")
    assert judge_run(both(GOOD, last_row(gather(), wrong="4").text()), NO_FLOOR, exit_code=0).outcome == "fail"
    assert judge_run(both(GOOD, ""), NO_FLOOR, exit_code=0).outcome == "unknown"


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text(), st.sampled_from([None, 0, 1, 124]), st.booleans())
def test_garbage_never_passes(first: str, second: str, code: int | None, marked: bool) -> None:
    text = both(first + "\n", second) if marked else first + second
    assert judge_run(text, WANTED, exit_code=code).outcome == "unknown"
    assert judge_run(both(GOOD, second), WANTED, exit_code=code).outcome == "unknown"
    assert judge_run(both(first + "\n", gather().text()), WANTED, exit_code=code).outcome == "unknown"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(both(GOOD, gather().text()).rstrip()) - 12))
def test_a_run_that_is_cut_anywhere_never_passes(length: int) -> None:
    assert judge_run(both(GOOD, gather().text())[:length], WANTED, exit_code=0).outcome != "pass"


# --- the plan's words, and what is told ---


def raw_gate(also: Any) -> dict[str, Any]:
    raw = copy.deepcopy(GATE)
    raw["expectation"] |= {"backend": "nccl", "ranks": 16, "ranks_per_node": 8, "floor_busbw_gbytes_per_s": 0.05, "also": also}
    return raw


def gate_of(also: Also) -> gate_json.Gate:
    return gate_json.parse(json.dumps(raw_gate(also.to_dict())))


def test_the_contract_reads_what_it_writes() -> None:
    for also in (ALSO, NO_FLOOR.also):
        assert also is not None
        gate = gate_of(also)
        assert gate.expectation.also == also
        assert gate_json.parse(json.dumps(gate.to_dict())) == gate


def test_without_a_second_collective_the_plan_is_what_it_was() -> None:
    assert "also" not in gate_json.parse(json.dumps(GATE)).to_dict()["expectation"]


@pytest.mark.parametrize(
    ("also", "says"),
    [
        ("all_gather", "expectation.also: 'all_gather' is not an object"),
        ({}, "expectation.also.collective: missing"),
        ({"collective": "all_gather", "floor": 1}, "expectation.also.floor: unknown key"),
        (
            {"collective": "all_gather", "floor_busbw_gbytes_per_s": -1},
            "also.floor_busbw_gbytes_per_s: -1 must be a number above",
        ),
    ],
)
def test_a_bad_plan_says_where(also: Any, says: str) -> None:
    with pytest.raises(gate_json.ContractError, match=says.replace("(", r"\(")):
        gate_json.parse(json.dumps(raw_gate(also)))


@pytest.mark.parametrize(("second", "code", "outcome"), [(0.04, "0", "pass"), (0.02, "0", "fail"), (0.04, "", "unknown")])
def test_the_judge_beside_index_0_reads_both(tmp_path: Path, second: float, code: str, outcome: str) -> None:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "gate.json").write_text(json.dumps(raw_gate(ALSO.to_dict())))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "exit-code").write_text(code)
    place = sidecar.Place.of({contract.ENV_ROOT: str(tmp_path), contract.ENV_INDEX: "0"})
    found = sidecar.verdict(place, both(GOOD, gather(second).text()), "stopped")
    assert found.outcome == outcome
    assert found.also is not None


def ended(gate: gate_json.Gate, text: str, code: int = 0) -> ending.Ending:
    found = judge_run(text, gate.expectation, exit_code=code)
    nodes = ("n0", "n1")
    return ending.with_findings(ending.of_measurement(found, nodes), findings.of_small_group(nodes, found))


def test_a_slow_all_gather_is_told_with_both_figures() -> None:
    gate = gate_of(ALSO)
    end = ended(gate, both(GOOD, gather(0.02).text()))
    first, finding, _ = report.message(gate, end).splitlines()
    assert first.startswith(
        "FAIL train: all_reduce busbw 0.06 GB/s at 16 MiB over n0, n1; wanted at least 0.05 GB/s (floor given in the spec); "
        "all_gather busbw 0.02 GB/s, wanted at least 0.03 GB/s (floor given in the spec). Nodes stay closed."
    )
    assert finding.startswith("Slow (all_gather 0.02 GB/s): one of n0, n1, or the link between them")
    verdict = report.verdict(gate, end, "")
    assert (verdict["collective"], verdict["busbw_gbytes_per_s"]) == ("all_reduce", pytest.approx(0.06))
    assert verdict["also"] == [
        {
            "collective": "all_gather",
            "outcome": "fail",
            "reason": "busbw 0.02 GB/s at 16 MiB is below the floor of 0.03 GB/s",
            "size_bytes": 1 << 24,
            "busbw_gbytes_per_s": 0.02,
            "floor_busbw_gbytes_per_s": 0.03,
            "floor_source": "given in the spec",
        }
    ]


def test_that_no_floor_is_known_is_said() -> None:
    gate = gate_of(Also("all_gather"))
    end = ended(gate, both(GOOD, gather().text()))
    assert "; all_gather busbw 0.04 GB/s, no floor is known for it. Nodes are open" in report.message(gate, end)
    (also,) = report.verdict(gate, end, "")["also"]
    assert (also["floor_busbw_gbytes_per_s"], also["floor_source"], also["outcome"]) == (None, "", "pass")


def test_what_did_not_run_is_in_the_verdict_too() -> None:
    gate = gate_of(ALSO)
    assert [each["outcome"] for each in report.verdict(gate, ended(gate, "", 1), "")["also"]] == ["unknown"]
    undecided = ending.of_undecided(ending.Undecided("the nodes left", "bring them back"), ("n0",))
    (also,) = report.verdict(gate, undecided, "")["also"]
    assert (also["outcome"], also["reason"], also["busbw_gbytes_per_s"]) == ("unknown", "it did not run", None)
