"""Stage 0 in the gate: a sick node is never let in, the coordinator names it, and what was not checked is said."""

import copy
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import contract, gate_json
from gpufabric.validation.files import write_whole
from gpufabric.validation.health import Watch, examine
from gpufabric.validation.health_report import Report
from gpufabric.validation.measurement import Measurement, parse
from tests.validation import health_outputs as outputs
from tests.validation.fake_api import Cluster
from tests.validation.health_outputs import HEALTHY, readings
from tests.validation.printer import Sheet, healthy
from tests.validation.samples import GATE
from tests.validation.test_coordinator import GOOD, RUNNING, Run, ended, message, starting
from tests.validation.test_coordinator import run as run  # noqa: PLC0414  # the fixture
from tests.validation.test_health import WISH
from tests.validation.test_sidecar import KEY, Box, free_port, until

WITH_HEALTH = {**GATE, "health": WISH.to_dict()}
SICK = {**HEALTHY, "ecc": outputs.ecc({2: "1"})}


def test_the_section_reads_back() -> None:
    gate = gate_json.parse(json.dumps(WITH_HEALTH))
    assert gate.health == WISH
    assert gate_json.parse(json.dumps(gate.to_dict())) == gate


def test_a_plan_of_an_older_version_holds_no_node_to_anything() -> None:
    assert gate_json.parse(json.dumps(GATE)).health is None
    assert gate_json.parse(json.dumps({**GATE, "health": None})).health is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gpus": "8"}, "health.gpus: '8' is not a whole number"),
        ({"gpus": -1}, "health.gpus: -1 must be at least 0"),
        ({"interface": ""}, "health.interface: must not be empty"),
        ({"surprise": 1}, "health.surprise: unknown key"),
        ({"hcas": "ibp"}, "health.hcas: 'ibp' is not a list"),
        ({"rules": {"ecc": {"severity": "bad", "fix": "x"}}}, "health.rules.ecc.severity: 'bad' is not one of"),
        ({"rules": {"ecc": 3}}, "health.rules.ecc: 3 is not an object"),
        ({"xids": {"79": {"severity": "fatal"}}}, "health.xids.79.action: missing"),
    ],
)
def test_problems_of_the_section_are_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(gate_json.ContractError) as caught:
        gate_json.parse(json.dumps({**GATE, "health": {**WISH.to_dict(), **change}}))
    assert says in str(caught.value)


# --- the judge beside a rank ---


class Pod:
    """A judge with a gate.json that has a health section, and the readings that its rank container would leave."""

    def __init__(self, root: Path, index: int, port: int) -> None:
        self.box = Box(root, index, port)
        (root / "plan" / "gate.json").write_text(json.dumps(WITH_HEALTH))
        self.folder = self.box.shared / "health"

    def read(self, texts: dict[str, str], *, done: bool = True) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "begun").touch()
        for name, text in texts.items():
            (self.folder / name).write_text(text)
            (self.folder / f"{name}.code").write_text("0\n")
        if done:
            (self.folder / "done").touch()


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Callable[[int], Pod]]:
    port, made = free_port(), list[Pod]()

    def pod(index: int) -> Pod:
        made.append(Pod(tmp_path / str(index), index, port))
        made[-1].box.start()
        return made[-1]

    yield pod
    for each in made:
        each.box.stop.set()
        each.box.join()


def test_nobody_is_let_in_before_the_readings_are_there(pods: Callable[[int], Pod]) -> None:
    first = pods(0)
    (first.box.shared / "id.pub").write_text(KEY + "\n")
    first.read(HEALTHY, done=False)
    time.sleep(0.5)
    assert not (first.box.shared / "authorized_keys").exists()
    (first.folder / "done").touch()
    until((first.box.shared / "authorized_keys").exists)
    (first.box.shared / "output").write_text(healthy().text())
    write_whole(first.box.shared / "exit-code", "0\n")
    assert first.box.join() == 0
    found = first.box.message()
    assert found.outcome == "pass"
    assert found.health == Report(WISH.wanted)
    assert len(first.box.log.read_bytes()) <= contract.TERMINATION_MESSAGE_BYTES


@pytest.mark.parametrize("index", [0, 1])
def test_a_sick_node_says_so_at_once_and_lets_nobody_in(pods: Callable[[int], Pod], index: int) -> None:
    pod = pods(index)
    (pod.box.shared / "id.pub").write_text(KEY + "\n")
    pod.read(SICK)
    assert pod.box.join() == 0
    found = pod.box.message()
    assert (found.outcome, found.cause, found.reason) == ("fail", "health", "ecc: GPU 2: 1")
    assert found.health is not None
    assert [each.check for each in found.health.fatal] == ["ecc"]
    assert not (pod.box.shared / "authorized_keys").exists()


def test_a_rank_that_fails_before_its_readings_is_judged_as_before(pods: Callable[[int], Pod]) -> None:
    pod = pods(0)
    write_whole(pod.box.shared / "error", "the image has no sshd (package openssh-server)\n")
    write_whole(pod.box.shared / "exit-code", "70\n")
    assert pod.box.join() == 0
    assert pod.box.message().reason == "the image has no sshd (package openssh-server) (exit code 70)"


def test_readings_that_never_come_are_an_error_with_a_reason(tmp_path: Path) -> None:
    pod = Pod(tmp_path, 1, free_port())
    pod.box.environment["GATE_DEADLINE_SECONDS"] = "1"
    pod.box.start()
    assert pod.box.join() == 1
    assert pod.box.message().reason == "the judge failed: the rank container left no health readings within 1 s"


def test_readings_that_were_begun_and_not_ended_are_judged_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufabric.validation.health._PATIENCE_SECONDS", 0.2)
    watch = Watch(tmp_path, WISH)
    assert watch.look() is None
    (tmp_path / "health").mkdir()
    (tmp_path / "health" / "begun").touch()
    assert watch.look() is None
    time.sleep(0.25)
    report = watch.look()
    assert report is not None
    assert report.passed == ()
    assert not report.fatal


# --- the coordinator ---


def said(report: Report) -> str:
    return Watch(Path(), WISH).measurement(report).to_json()


def spoken(at: dict[int, Report], **of_first: Any) -> Callable[[Cluster], None]:
    """Judges that have ended with a report, by index; the others still run."""

    def stage(cluster: Cluster) -> None:
        for index in (0, 1):
            judge = ended(0, said(at[index])) if index in at else RUNNING
            cluster.pod(index, f"n{index}", rank=RUNNING, judge=judge)

    return stage


FINE = examine(WISH, readings())
BAD = examine(WISH, readings(ecc=outputs.ecc({2: "1"}), nvlink=outputs.nvlink({3: outputs.link_down(5)})))
HALF = examine(WISH, readings(dcgm="Error: unable to establish a connection\n"))


@pytest.fixture
def gate(run: Run) -> Run:
    run.gate = copy.deepcopy(WITH_HEALTH)
    return run


def test_a_sick_node_fails_the_gate_and_is_named(gate: Run) -> None:
    code, text = gate.go(starting, spoken({1: BAD}), spoken({1: BAD}))
    assert code == contract.EXIT_CODES["fail"]
    first, finding, fix = text.splitlines()
    assert first.startswith(
        "FAIL train: sick before any network run: n1 (nvlink, ecc); none was started. Nothing measured over n0"
    )
    assert finding == (
        "Sick node: n1: nvlink: GPU 3: 17 active, 1 inactive (wanted 18 active links per GPU); "
        "ecc: GPU 2: 1 (wanted at most 0 uncorrected errors)."
    )
    assert fix.startswith("Next: repair nvlink; repair ecc; then run `pulumi up` again")
    assert gate.labels() == ["unknown", "fail"]
    assert "ecc: GPU 2: 1" in json.dumps(gate.cluster.marks("n1")[1])
    verdict = gate.cluster.verdict()
    assert verdict["outcome"] == "fail"
    assert verdict["findings"][0]["kind"] == "sick_node"
    assert verdict["findings"][0]["nodes"] == ["n1"]
    assert {each["check"]: each["fix"] for each in verdict["health"]["n1"]["findings"]} == {
        "nvlink": "repair nvlink",
        "ecc": "repair ecc",
    }
    assert not gate.rank_job()


@pytest.mark.parametrize("at", [{0: BAD}, {0: BAD, 1: BAD}], ids=["rank 0", "both"])
def test_rank_0_and_all_nodes_can_be_sick(gate: Run, at: dict[int, Report]) -> None:
    code, text = gate.go(starting, spoken(at), spoken(at))
    assert code == contract.EXIT_CODES["fail"]
    names = " and ".join(f"n{index}" for index in at)
    assert all(f"Sick node: {name}: " in text for name in names.split(" and "))
    assert gate.labels() == ["fail", "fail" if 1 in at else "unknown"]


def test_a_pass_says_what_was_checked_and_what_was_not(gate: Run) -> None:
    def passed(cluster: Cluster) -> None:
        message = Measurement(**{**parse_of(GOOD), "health": FINE}).to_json()
        cluster.pod(0, "n0", rank=ended(0), judge=ended(0, message))
        cluster.pod(1, "n1", rank=RUNNING, judge=ended(0, said(HALF)))

    code, text = gate.go(starting, spoken({1: HALF}), passed)
    assert code == 0
    count = 2 * len(WISH.wanted) - 1
    assert f"Node health: {count} checks passed on 2 nodes, 1 not checked (dcgm)." in text.splitlines()[0]
    verdict = gate.cluster.verdict()
    assert verdict["health"]["n0"] == {"passed": list(WISH.wanted), "findings": [], "dropped": 0}
    assert [each["check"] for each in verdict["health"]["n1"]["findings"]] == ["dcgm"]
    assert gate.labels() == ["pass", "pass"]


def parse_of(sheet: Sheet) -> dict[str, Any]:
    found = parse(message(sheet))
    assert found is not None
    return dict(found.__dict__)


def test_a_judge_in_a_hurry_does_not_hide_its_health() -> None:
    """A message that is cut to its limit drops rows of the table, never the health of the node."""
    found = Measurement(**{**parse_of(GOOD), "health": BAD, "hosts": tuple(f"host-{n:064}" for n in range(200))})
    text = found.to_json()
    assert len(text.encode()) <= contract.TERMINATION_MESSAGE_BYTES
    back = parse(text)
    assert back is not None
    assert back.health is not None
    assert back.health.fatal == BAD.fatal
