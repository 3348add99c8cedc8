"""Stage 0: the report on its way through a message of 4096 bytes, and what is said of a group."""

import json
from dataclasses import replace

import pytest

from gpufabric.validation import health_report
from gpufabric.validation.health_report import Finding, Report
from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, WARNING, Health, Rule
from tests.validation import health_outputs as outputs
from tests.validation.test_health import RULES, WISH, only


def test_severities_come_from_the_rules() -> None:
    wish = replace(WISH, rules={**RULES, "ecc": Rule(WARNING, "watch it")})
    assert only(wish, ecc=outputs.ecc({2: "1"})).severity == WARNING
    assert Health(interface="eth0").rule("ecc").severity == FATAL, "a check without a rule"


def test_the_message_has_room_and_says_what_it_left_out() -> None:
    many = tuple(Finding(f"check{number}", NOT_CHECKED, "é" * 300, "x" * 300) for number in range(30))
    report = Report(("a", "b"), (*many, Finding("ecc", FATAL, "GPU 2: 1", "0")))
    raw = report.to_raw()
    assert len(json.dumps(raw).encode()) < 1700
    back = health_report.parse(json.loads(json.dumps(raw)))
    assert back is not None
    assert back.fatal == (Finding("ecc", FATAL, "GPU 2: 1", "0"),), "the worst stays"
    assert len(back.findings) + back.dropped == 31
    assert back.dropped > 0
    assert "30 not checked (check0)" in health_report.summary({"n0": back})


@pytest.mark.parametrize(
    "raw",
    [
        *(None, 3, [], {}, {"passed": 1}),
        {"passed": [], "findings": [["ecc", "odd", "", ""]], "dropped": 0},
        {"passed": [], "findings": [["ecc"]], "dropped": 0},
        {"passed": [], "findings": [], "dropped": "0"},
    ],
)
def test_what_is_no_report(raw: object) -> None:
    assert health_report.parse(raw) is None


def test_a_group_is_said_in_a_sentence() -> None:
    sick = Report(("shm",), (Finding("ecc", FATAL, "GPU 2: 1", "at most 0 uncorrected errors"),))
    fair = Report(("shm", "ecc"), (Finding("xid", NOT_CHECKED, "kernel log", ""), Finding("hca_rate", WARNING, "slow", "same")))
    reports = {"n1": sick, "n0": fair}
    assert health_report.reason(reports) == "sick before any network run: n1 (ecc); none was started"
    assert health_report.fatal_text(sick) == "ecc: GPU 2: 1 (wanted at most 0 uncorrected errors)"
    assert health_report.reason({"n0": fair}) == ""
    assert health_report.fix(WISH, reports) == "repair ecc"
    assert health_report.summary(reports) == (
        "Node health: 3 checks passed on 2 nodes, warning hca_rate on n0: slow, 1 not checked (xid)"
    )
    assert health_report.summary({}) == ""
    verdict = health_report.to_verdict(WISH, reports)
    assert verdict is not None
    assert verdict["n1"]["findings"][0] == {
        **sick.findings[0].__dict__,
        "fix": "repair ecc",
    }
    assert health_report.to_verdict(None, {}) is None
