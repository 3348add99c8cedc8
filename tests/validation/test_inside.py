"""Stage 1: what a judge makes of the run among a node's own ranks, and what the gate does with a node that is wrong inside."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import alone, contract, gate_json, inside, inside_group, sidecar
from gpufabric.validation.files import write_whole
from gpufabric.validation.health_wish import Health
from gpufabric.validation.inside_wish import Inside
from gpufabric.validation.measurement import InsideResult, Measurement, parse
from gpufabric.validation.pairs import pair_gate
from tests.validation.fake_api import Cluster
from tests.validation.printer import Sheet, healthy
from tests.validation.samples import ENVIRONMENT, GATE
from tests.validation.test_coordinator import GOOD, RUNNING, Run, ended, message, starting
from tests.validation.test_coordinator import run as run  # noqa: PLC0414  # the fixture
from tests.validation.test_sidecar import KEY, Box, _at, free_port, until

WISH = Inside(8, 1 << 10, 1 << 20, 4, 60, "8 GPUs of one node", 0.324, "a table")
SUMS = replace(WISH, floor_busbw_gbytes_per_s=None, floor_source="")
FAST, SLOW = healthy(8, busbw=0.361, largest=1 << 20), healthy(8, busbw=0.21, largest=1 << 20)
TOO_SLOW = "busbw 0.21 GB/s at 1 MiB is below the floor of 0.324 GB/s"


def with_inside(wish: Inside, **more: Any) -> dict[str, Any]:
    return {**GATE, "inside": wish.to_dict(), **more}


@pytest.mark.parametrize("wish", [WISH, SUMS])
def test_the_section_reads_back(wish: Inside) -> None:
    gate = gate_json.parse(json.dumps(with_inside(wish)))
    assert gate.inside == wish
    assert gate_json.parse(json.dumps(gate.to_dict())) == gate


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ranks": 1}, "inside.ranks: 1 must be at least 2"),
        ({"seconds": 0}, "inside.seconds: 0 must be at least 1"),
        ({"min_bytes": 1 << 30}, "inside.min_bytes: 1073741824 is above max_bytes 1048576"),
        ({"floor_busbw_gbytes_per_s": 0}, "inside.floor_busbw_gbytes_per_s: 0 must be a number above 0"),
        ({"what": ""}, "inside.what: must not be empty"),
        ({"surprise": 1}, "inside.surprise: unknown key"),
    ],
)
def test_problems_of_the_section_are_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(gate_json.ContractError) as caught:
        gate_json.parse(json.dumps({**GATE, "inside": {**WISH.to_dict(), **change}}))
    assert says in str(caught.value)


# --- the judge beside a rank ---


class Node:
    """A judge whose gate.json has the section, and what rank.sh would leave for it."""

    def __init__(self, root: Path, index: int, port: int, wish: Inside = WISH, **more: Any) -> None:
        self.box = Box(root, index, port)
        (root / "plan" / "gate.json").write_text(json.dumps(with_inside(wish, **more)))
        self.box.environment[contract.ENV_INSIDE_SECONDS] = str(wish.seconds)
        self.folder = self.box.shared / "inside"
        self.folder.mkdir()
        (self.folder / "begun").touch()

    def measured(self, sheet: Sheet | None, code: int = 0, error: str = "") -> None:
        if sheet is not None:
            (self.folder / "output").write_text(sheet.text())
        if error:
            write_whole(self.folder / "error", error)
        write_whole(self.folder / "exit-code", f"{code}\n")


Nodes = Callable[..., Node]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    port, made = free_port(), list[Node]()

    def node(index: int, **changes: Any) -> Node:
        made.append(Node(tmp_path / str(index), index, port, **changes))
        if index == 0:
            (made[-1].box.shared / "id.pub").write_text(KEY + "\n")
        return made[-1]

    yield node
    for each in made:
        each.box.stop.set()
        each.box.join()


def test_a_node_is_let_in_after_its_own_ranks_and_not_before(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = nodes(0), nodes(1)
    url = f"http://127.0.0.1:{second.box.environment['GATE_KEY_PORT']}/key"
    monkeypatch.setattr(sidecar.Place, "of", staticmethod(_at(url, sidecar.Place.of)))
    for each in (first, second):
        each.box.start()
    second.measured(FAST)
    assert second.box.join() == 0, "index 0 serves the key whether or not its own node has been through it"
    found = second.box.message()
    assert (found.outcome, found.reason) == ("pass", "the node may take part")
    assert found.inside == InsideResult("pass", "busbw 0.361 GB/s at 1 MiB, at least 0.324 GB/s", "", 0.361, 1 << 20)
    assert not (first.box.shared / "authorized_keys").exists()
    first.measured(FAST)
    until((first.box.shared / "authorized_keys").exists)
    (first.box.shared / "output").write_text(GOOD.text())
    write_whole(first.box.shared / "exit-code", "0\n")
    assert first.box.join() == 0
    found = first.box.message()
    assert (found.outcome, found.size_bytes) == ("pass", 1 << 24), "the network run, not the node's own"
    assert found.inside is not None
    assert found.inside.busbw_gbytes_per_s == 0.361


BAD: dict[str, tuple[Inside, Sheet | None, int, str, tuple[str, str, str]]] = {
    "slow": (WISH, SLOW, 0, "", ("fail", "slow", TOO_SLOW)),
    "wrong sums": (SUMS, replace(SLOW, bounds="3 FAILED"), 1, "", ("fail", "wrong_sums", "wrong sums: 3 values out of bounds")),
    "a rank is missing": (SUMS, healthy(7, busbw=0.21, largest=1 << 20), 0, "", ("unknown", "incomplete", "7 ranks took part")),
    "no library": (
        SUMS,
        None,
        70,
        "the image has no torch",
        ("unknown", "incomplete", "the image has no torch (exit code 70)"),
    ),
    "a hang": (SUMS, None, 124, "it did not end within 60 s", ("unknown", "incomplete", "it did not end within 60 s")),
}


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("case", BAD)
def test_a_node_that_is_wrong_inside_says_so_and_is_not_let_in(nodes: Nodes, case: str, index: int) -> None:
    wish, sheet, code, error, (outcome, cause, reason) = BAD[case]
    node = nodes(index, wish=wish)
    node.measured(sheet, code, error)
    node.box.start()
    assert node.box.join() == 0
    found = node.box.message()
    assert (found.outcome, found.cause) == (outcome, "inside")
    assert found.inside is not None
    assert (found.inside.outcome, found.inside.cause) == (outcome, cause)
    assert found.inside.reason.startswith(reason)
    assert not (node.box.shared / "authorized_keys").exists()


def test_without_a_floor_any_speed_passes(nodes: Nodes) -> None:
    node = nodes(0, wish=SUMS)
    node.measured(healthy(8, busbw=0.001, largest=1 << 20))
    node.box.start()
    until((node.box.shared / "authorized_keys").exists)


def test_torch_is_let_in_without_a_key(nodes: Nodes) -> None:
    gate = {"expectation": {**GATE["expectation"], "backend": "torch"}}
    for index in (1, 0):  # the other needs nothing of index 0
        node = nodes(index, **gate)
        node.measured(FAST)
        node.box.start()
        until((node.box.shared / "let-in").exists)
        assert not (node.box.shared / "authorized_keys").exists()


def test_alone_its_own_ranks_are_the_result(nodes: Nodes) -> None:
    node = nodes(0)
    node.box.environment[contract.ENV_ALONE] = "1"
    node.measured(FAST)
    write_whole(node.box.shared / "exit-code", "0\n")  # rank.sh has ended already
    node.box.start()
    assert node.box.join() == 0
    found = node.box.message()
    assert (found.outcome, found.busbw_gbytes_per_s, found.ranks, found.size_bytes) == ("pass", 0.361, 8, 1 << 20)
    assert not (node.box.shared / "authorized_keys").exists()


def test_a_process_that_not_even_a_kill_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "_OVERTIME_SECONDS", -60.0)
    (tmp_path / "inside").mkdir()
    watch = inside.Watch(tmp_path, gate_json.parse(json.dumps(with_inside(WISH))))
    assert watch.look() is None
    (tmp_path / "inside" / "begun").touch()
    found = watch.look()
    assert found is not None
    assert (found.outcome, found.reason) == (
        "unknown",
        "the benchmark inside the node did not end within 60 s and could not be stopped",
    )


@pytest.mark.parametrize("text", ["3", '{"outcome": "x"}', "[]", "null"])
def test_another_programs_result_is_none(text: str) -> None:
    found = parse(f'{{"version": 1, "outcome": "pass", "inside": {text}}}')
    assert found is not None
    assert found.inside is None


# --- the coordinator ---

FINE = InsideResult("pass", "fine", "", 0.361, 1 << 20)
LAME = InsideResult("fail", TOO_SLOW, "slow", 0.21, 1 << 20)
LOST = InsideResult("unknown", "the image has no torch", "incomplete")


def spoken(at: dict[int, InsideResult]) -> Callable[[Cluster], None]:
    def stage(cluster: Cluster) -> None:
        for index in (0, 1):
            text = Measurement(at[index].outcome, "said", "inside", inside=at[index]).to_json() if index in at else ""
            cluster.pod(index, f"n{index}", rank=RUNNING, judge=ended(0, text) if index in at else RUNNING)

    return stage


@pytest.fixture
def gate(run: Run) -> Run:
    run.gate = copy.deepcopy(with_inside(WISH))
    return run


@pytest.mark.parametrize("where", [0, 1])
def test_a_node_that_is_wrong_inside_fails_the_gate_and_is_named(gate: Run, where: int) -> None:
    bad = spoken({where: LAME})
    code, text = gate.go(starting, bad, bad)
    assert code == contract.EXIT_CODES["fail"]
    first, finding, fix = text.splitlines()
    assert first.startswith(
        f"FAIL train: wrong inside before any network run: n{where} ({TOO_SLOW}); none was started. Nothing measured over n0"
    )
    assert finding == f"Bad inside: n{where}: {TOO_SLOW} (its own ranks only)."
    assert fix.startswith("Next: compare NVLink and PCIe of the node")
    assert gate.labels() == ["fail" if index == where else "unknown" for index in (0, 1)]
    (found,) = gate.cluster.verdict()["findings"]
    assert (found["kind"], found["nodes"], found["busbw_gbytes_per_s"]) == ("bad_inside", [f"n{where}"], 0.21)
    assert not gate.rank_job()


def test_wrong_sums_inside_have_their_own_advice(gate: Run) -> None:
    bad = spoken({1: replace(LAME, cause="wrong_sums", reason="wrong sums: 3")})
    _, text = gate.go(starting, bad, bad)
    assert "Next: data is corrupted inside the node" in text


def test_no_result_inside_is_unknown_and_names_nobody_as_bad(gate: Run) -> None:
    bad = spoken({0: LOST, 1: LOST})
    code, text = gate.go(starting, bad, bad)
    assert code == contract.EXIT_CODES["unknown"]
    assert "no result inside before any network run: n0, n1 (the image has no torch); none was started" in text
    assert gate.labels() == ["unknown", "unknown"]
    assert {each["kind"] for each in gate.cluster.verdict()["findings"]} == {"undecided"}


def test_a_pass_says_what_was_measured_inside(gate: Run) -> None:
    def passed(cluster: Cluster) -> None:
        of_group = parse(message(GOOD))
        assert of_group is not None
        for index, result in ((0, FINE), (1, replace(FINE, busbw_gbytes_per_s=0.358))):
            text = (
                replace(of_group, inside=result).to_json() if index == 0 else Measurement("pass", "", inside=result).to_json()
            )
            cluster.pod(index, f"n{index}", rank=ended(0), judge=ended(0, text))

    code, text = gate.go(starting, passed)
    assert code == 0
    says = "Inside: busbw 0.358 to 0.361 GB/s at 1 MiB on 2 nodes (8 GPUs of one node; wanted at least 0.324)."
    assert says in text.splitlines()[0]
    verdict = gate.cluster.verdict()["inside"]
    assert (verdict["what"], verdict["floor_busbw_gbytes_per_s"]) == ("8 GPUs of one node", 0.324)
    assert [each["busbw_gbytes_per_s"] for each in verdict["nodes"].values()] == [0.361, 0.358]


def test_without_a_floor_the_summary_says_so() -> None:
    found = {"n0": replace(FINE, busbw_gbytes_per_s=0.4)}
    assert inside_group.summary(SUMS, found) == "Inside: sums right on 1 node (8 GPUs of one node; no floor is known)"
    assert inside_group.summary(None, {}) == inside_group.summary(WISH, {}) == ""


# --- pairs, and nodes alone ---


def of_stage(gate: gate_json.Gate) -> set[str]:
    containers = gate.rank_job["spec"]["template"]["spec"]["containers"]
    return {
        each["name"] for container in containers for each in container["env"] if each["name"].startswith(contract.ENV_INSIDE)
    }


def planned() -> gate_json.Gate:
    raw = copy.deepcopy(with_inside(WISH))
    stage = {contract.ENV_INSIDE: "bench", contract.ENV_INSIDE_RANKS: "8", contract.ENV_INSIDE_SECONDS: "60"}
    for container in raw["rank_job"]["spec"]["template"]["spec"]["containers"]:
        container["env"] = [*ENVIRONMENT, *({"name": name, "value": value} for name, value in stage.items())]
    return gate_json.parse(json.dumps(raw))


def test_a_pair_that_looks_for_the_node_does_without_and_its_clocks_are_shorter() -> None:
    gate = planned()
    pair = pair_gate(gate, ("n0", "n1"), 1, 0)
    assert of_stage(pair) == set()
    assert pair.inside is None
    assert pair.timeouts.rank_job_s == gate.timeouts.rank_job_s - 60
    env = {each["name"]: each["value"] for each in pair.rank_job["spec"]["template"]["spec"]["containers"][1]["env"]}
    assert env[contract.ENV_DEADLINE_SECONDS] == "270"


def test_a_pair_that_looks_for_the_node_does_without_a_long_stage_0() -> None:
    raw = copy.deepcopy(GATE) | {"health": Health(interface="eth0", gpus=8, dcgm_level=2, dcgm_more_s=40).to_dict()}
    level = {contract.ENV_DCGM_LEVEL: "2", contract.ENV_DCGM_SECONDS: "40"}
    rank = raw["rank_job"]["spec"]["template"]["spec"]["containers"][0]
    rank["env"] = [*ENVIRONMENT, *({"name": name, "value": value} for name, value in level.items())]
    gate = gate_json.parse(json.dumps(raw))

    def told(of: gate_json.Gate) -> dict[str, str]:
        env = of.rank_job["spec"]["template"]["spec"]["containers"][0]["env"]
        return {each["name"]: each["value"] for each in env if each["name"].startswith("GATE_DCGM")}

    assert told(pair_gate(gate, ("n0", "n1"), 0, 0, timeouts=gate.timeouts)) == level, "a late node is looked at as well"
    pair = pair_gate(gate, ("n0", "n1"), 1, 0)
    assert told(pair) == {}
    assert pair.timeouts.rank_job_s == gate.timeouts.rank_job_s - 40


def test_a_pair_with_a_late_node_goes_through_it() -> None:
    gate = planned()
    pair = pair_gate(gate, ("n0", "n1"), 0, 0, timeouts=gate.timeouts)
    assert of_stage(pair) == of_stage(gate) != set()
    assert pair.inside == WISH


def test_a_node_alone_is_one_pod_that_runs_nothing_else() -> None:
    gate = planned()
    found = alone.gate_of(gate, "n7", "train-ranks-0-0")
    spec = found.rank_job["spec"]
    assert (found.nodes, spec["completions"], spec["parallelism"]) == (1, 1, 1)
    (term,) = spec["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchFields"][0]["values"] == ["n7"]
    env = {each["name"]: each["value"] for each in spec["template"]["spec"]["containers"][0]["env"]}
    assert (env[contract.ENV_ALONE], env[contract.ENV_NODES], env[contract.ENV_RANKS]) == ("1", "1", "8")
    assert (found.expectation.floor_busbw_gbytes_per_s, found.expectation.ranks) == (0.324, 8)
