"""Health under load: what load.sh reads while a node's ranks work, how it is judged, and what the judge makes of it."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.validation import health_load
from gpufabric.validation.health_readings import Reading, Readings
from gpufabric.validation.health_report import Finding, Report
from gpufabric.validation.health_values import examine
from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, WARNING
from tests.validation import health_outputs as outputs
from tests.validation.programs import SHELL
from tests.validation.test_health import WISH
from tests.validation.test_health_sh import NVIDIA_SMI
from tests.validation.test_inside import FAST, Node
from tests.validation.test_inside import WISH as INSIDE
from tests.validation.test_rank_sh import INSIDE as STAGE
from tests.validation.test_rank_sh import SCRIPT, Pod
from tests.validation.test_sidecar import KEY, free_port

IDLE = outputs.gpus(gen=dict.fromkeys(range(8), "1"))


def left(folder: Path, part: str, *texts: str, code: int = 0) -> None:
    """Samples as load.sh leaves them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts, 1):
        (folder / f"{part}-{number}").write_text(text)
        (folder / f"{part}-{number}.code").write_text(f"{code}\n")


def looked(folder: Path, gpus: list[str], throttle: list[str]) -> Report:
    left(folder, "gpus", *gpus)
    left(folder, "throttle", *throttle)
    return health_load.look(folder, WISH)


def test_a_link_is_judged_at_its_best(tmp_path: Path) -> None:
    report = looked(tmp_path, [IDLE, outputs.gpus(), IDLE], [outputs.throttle()] * 3)
    assert report == Report(("pcie", "throttle"))


def test_a_link_that_stays_narrow_under_load_is_found(tmp_path: Path) -> None:
    narrow = outputs.gpus(width={3: "8"})
    report = looked(tmp_path, [IDLE, narrow, narrow], [outputs.throttle()])
    assert report.passed == ("throttle",)
    says = "GPU 3: gen 5 of 5, width 8 of 16, under load"
    assert report.findings == (Finding("pcie", FATAL, says, "full generation and width under load"),)
    (slow,) = looked(tmp_path / "b", [IDLE, IDLE], [outputs.throttle()]).findings
    assert slow.measured == "GPU 0, 1, 2, 3, 4, 5, 6, 7: gen 1 of 5, width 16 of 16, under load"


def test_one_slowdown_among_many_samples_is_found(tmp_path: Path) -> None:
    hot = outputs.throttle({2: "hw_thermal_slowdown"})
    report = looked(tmp_path, [outputs.gpus()], [outputs.throttle(), hot, hot, outputs.throttle()])
    says = "GPU 2: hw_thermal_slowdown in 2 of 4 samples under load"
    assert report.findings == (Finding("throttle", FATAL, says, "no slowdown by heat or power brake"),)


def test_what_could_not_be_read_never_passes(tmp_path: Path) -> None:
    assert {each.measured for each in health_load.look(tmp_path / "nothing", WISH).findings} == {"no reading was left"}
    left(tmp_path / "no", "gpus", "sh: 1: nvidia-smi: not found\n", code=127)
    report = health_load.look(tmp_path / "no", WISH)
    assert [(each.check, each.severity, each.measured) for each in report.findings] == [
        ("pcie", NOT_CHECKED, "nvidia-smi is not in the image"),
        ("throttle", NOT_CHECKED, "no reading was left"),
    ]
    report = looked(tmp_path / "odd", [outputs.gpus(width={1: "[N/A]"})], [outputs.throttle(count=7)])
    assert [(each.check, each.severity, each.measured) for each in report.findings] == [
        ("pcie", NOT_CHECKED, "GPU 1: gen 5 of 5, width [N/A] of 16, under load"),
        ("throttle", NOT_CHECKED, "7 of 8 GPUs read"),
    ]


def test_a_sample_that_was_cut_off_does_not_hide_the_others(tmp_path: Path) -> None:
    left(tmp_path, "gpus", outputs.gpus(), outputs.gpus())
    left(tmp_path, "throttle", outputs.throttle())
    (tmp_path / "gpus-2.code").write_text("143\n")
    assert health_load.look(tmp_path, WISH) == Report(("pcie", "throttle"))


@given(st.lists(st.tuples(st.text(max_size=200), st.sampled_from([0, 1, 124, None])), max_size=4))
@settings(max_examples=100, deadline=None)
def test_any_texts(texts: list[tuple[str, int | None]]) -> None:
    """Never raises, and nothing that is no table of nvidia-smi passes."""
    samples = {f"{part}-{at}": Reading(*each) for at, each in enumerate(texts) for part in ("gpus", "throttle")}
    report = examine(health_load.CHECKS, WISH, Readings(samples))
    assert report.passed == ()
    assert len(report.findings) == 2


def test_the_later_look_stands_for_the_earlier_one() -> None:
    hot = Finding("throttle", WARNING, "GPU 1: hw_slowdown", "none")
    idle = Finding("pcie", NOT_CHECKED, "not judged when idle", "full")
    unread = Finding("pcie", NOT_CHECKED, "no reading was left", "full")
    first = Report(("ecc",), (idle, hot), 1)
    assert first.with_later(Report(("pcie", "throttle"))) == Report(("ecc", "pcie", "throttle"), (), 1)
    assert first.with_later(Report((), (unread,))) == Report(("ecc",), (hot, unread), 1)
    assert Report(("pcie",)).with_later(Report((), (unread,))) == Report((), (unread,)), "it passed idle, which is not enough"
    cool = Finding("throttle", NOT_CHECKED, "no reading was left", "none")
    assert first.with_later(Report((), (cool,))) == first, "what was found stays found"


# --- load.sh beside rank.sh ---


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path / "pod", 0, **{**STAGE, "GATE_INSIDE_SECONDS": "20", "GATE_LOAD": "1"})
    made.environment["FAKES"] = str(made.root)
    made.authorize()
    made.programs.fake("nvidia-smi", NVIDIA_SMI)
    (made.root / "gpus").write_text(IDLE)
    (made.root / "throttle").write_text(outputs.throttle(prefix="clocks_throttle_reasons"))
    yield made
    made.end()


WORKS = (
    'cp "$FAKES/busy" "$FAKES/gpus"; while [ ! -e "$GATE_ROOT/shared/load/gpus-3.code" ]; do sleep 0.1; done; echo "# a row"'
)


def test_the_scripts_are_posix() -> None:
    for name in ("load.sh", "gpus.sh"):
        subprocess.run([SHELL, "-n", str(SCRIPT.with_name(name))], check=True)
        if checker := shutil.which("shellcheck"):
            subprocess.run([checker, "-s", "sh", str(SCRIPT.with_name(name))], check=True)


def test_gpus_are_read_while_the_ranks_work_and_no_longer(pod: Pod) -> None:
    (pod.root / "busy").write_text(outputs.gpus(width={6: "4"}))
    pod.programs.fake("mpirun", WORKS)
    assert pod.run() == 0, pod.output
    (found,) = health_load.look(pod.shared / "load", WISH).findings
    assert (found.check, found.measured) == ("pcie", "GPU 6: gen 5 of 5, width 4 of 16, under load")
    before = sorted((pod.shared / "load").iterdir())
    assert len(before) >= 8
    assert not [line for line in running("load.sh") if str(pod.root) in line], "it ended with the stage"


def running(word: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if word in line]


def test_an_image_without_nvidia_smi_is_said_so(pod: Pod) -> None:
    (pod.programs.folder / "nvidia-smi").unlink()
    assert pod.run() == 0, pod.output
    assert {each.severity for each in health_load.look(pod.shared / "load", WISH).findings} == {NOT_CHECKED}


def test_where_the_ranks_are_no_gpus_nothing_is_read(pod: Pod) -> None:
    del pod.environment["GATE_LOAD"]
    assert pod.run() == 0, pod.output
    assert not (pod.shared / "load").exists()


# --- the judge beside it ---


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Node]:
    """Of a node whose health is fine while it is idle."""
    made = Node(tmp_path, 1, free_port(), replace(INSIDE, on_gpus=True), health=WISH.to_dict())
    folder = made.box.shared / "health"
    folder.mkdir()
    for name, text in {**outputs.HEALTHY, "gpus": IDLE}.items():
        (folder / name).write_text(text)
        (folder / f"{name}.code").write_text("0\n")
    (folder / "done").touch()
    yield made
    made.box.stop.set()
    made.box.join()


def test_a_node_that_is_sick_under_load_says_so_and_is_not_let_in(judge: Node) -> None:
    left(judge.box.shared / "load", "gpus", IDLE, outputs.gpus())
    left(judge.box.shared / "load", "throttle", outputs.throttle({5: "hw_power_brake_slowdown"}))
    judge.measured(FAST)
    judge.box.start()
    assert judge.box.join() == 0
    found = judge.box.message()
    says = "throttle: GPU 5: hw_power_brake_slowdown in 1 of 1 samples under load"
    assert (found.outcome, found.cause, found.reason) == ("fail", "health", says)
    assert found.health is not None
    assert "pcie" in found.health.passed
    assert found.inside is not None
    assert found.inside.outcome == "pass"
    assert not (judge.box.shared / "authorized_keys").exists()


def test_a_node_that_is_well_under_load_is_let_in(judge: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufabric.validation.keys.fetch_key", lambda *_: KEY)
    left(judge.box.shared / "load", "gpus", IDLE, outputs.gpus())
    left(judge.box.shared / "load", "throttle", outputs.throttle())
    judge.measured(FAST)
    judge.box.start()
    assert judge.box.join() == 0
    found = judge.box.message()
    assert found.outcome == "pass"
    assert found.health is not None
    assert (sorted(found.health.passed), found.health.findings) == (sorted(WISH.wanted), ())
