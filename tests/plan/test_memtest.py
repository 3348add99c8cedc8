"""The memory test before every job: in the pod profile, for jobs alone, and its shell program against fake dcgmi programs.

The answers are written after DCGM's documentation; no GPU has given them.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware import memtest_levels
from gpufabric.plan import ProfileConflictError
from gpufabric.plan.memtest import NAME, script
from tests.spec.specs import CPU, H100, changed, plan_of, problems

IMAGE = "nvcr.io/nvidia/cloud-native/dcgm:4.2.3-1-ubuntu22.04"
POD = {"spec": {"initContainers": [{"name": "data", "image": "acme/data:1"}], "containers": [{"name": "main"}]}}
RULE = "+---------------------------+------------------------------------------------+"
HEAD = f"Successfully ran diagnostic for group.\n{RULE}\n| Diagnostic                | Result |\n{RULE}"
PASSED = f"{HEAD}\n| Denylist                  | Pass |\n| memory                    | Pass |\n|          | GPU0: Pass |\n"
OLD = f"{HEAD}\n| PCIe                      | Pass - All |\n| GPU Memory                | Pass - All |\n"
SKIPPED = f"{HEAD}\n| Denylist                  | Pass |\n| memory                    | Skip |\n"
FAILED = f"{HEAD}\n| memory                    | Fail |\n|                           | GPU3: Fail |\n"


def wish(level: str = "short", image: str = IMAGE) -> dict[str, str]:
    return {"level": level, "image": image}


@pytest.mark.parametrize(
    ("level", "dcgm", "row"), [("short", "2", "memory"), ("medium", "3", "memory"), ("long", "4", "memtest")]
)
def test_the_first_init_container_uses_the_jobs_gpus(level: str, dcgm: str, row: str) -> None:
    profile = plan_of(changed(H100, group__memtest=wish(level))).groups[0].profile
    pod = profile.apply_to(POD)["spec"]
    assert [each["name"] for each in pod["initContainers"]] == [NAME, "data"]
    assert pod["initContainers"][0] == {
        "name": NAME,
        "image": IMAGE,
        "command": ["/bin/sh", "-c", script(), NAME, dcgm, row],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert profile.to_dict()["admission"]["initContainers"] == [pod["initContainers"][0]]
    assert profile.apply_to(profile.apply_to(POD)) == profile.apply_to(POD)


def test_the_gate_and_those_who_did_not_ask_have_none() -> None:
    plan = plan_of(changed(H100, group__memtest=wish())).groups[0]
    assert "initContainers" not in plan.gate.gate.rank_job["spec"]["template"]["spec"]
    without = plan_of(H100).groups[0]
    assert without.gate.gate.fingerprint == plan.gate.gate.fingerprint, "a job's test is no part of what was validated"
    assert "initContainers" not in without.profile.to_dict()["admission"]
    assert without.profile.apply_to(POD)["spec"]["initContainers"] == POD["spec"]["initContainers"]


def test_snake_case_and_a_container_of_that_name() -> None:
    profile = plan_of(changed(H100, group__memtest=wish())).groups[0].profile
    found = profile.apply_to({"node_selector": {}, "containers": [{"name": "main"}]})
    assert [each["name"] for each in found["init_containers"]] == [NAME]
    theirs = {"spec": {"initContainers": [{"name": NAME, "image": "acme/other:1"}], "containers": [{"name": "main"}]}}
    with pytest.raises(ProfileConflictError, match=rf"spec\.initContainers\[{NAME}\]"):
        profile.apply_to(theirs)


@pytest.mark.parametrize(
    ("base", "memtest", "says"),
    [
        (
            CPU,
            wish(),
            "node_groups[0].memtest: it tests the memory of GPUs; node_groups[0] has accelerators: cpu; leave it out",
        ),
        (
            H100,
            wish(image="nvcr.io/nvidia/dcgm:latest"),
            "node_groups[0].memtest.image: nvcr.io/nvidia/dcgm:latest is not pinned",
        ),
        (H100, {"level": "short"}, "node_groups[0].memtest.image: missing"),
        (H100, wish("quick"), "node_groups[0].memtest.level: 'quick'"),
    ],
)
def test_refused(base: dict[str, Any], memtest: dict[str, str], says: str) -> None:
    (found,) = problems(changed(base, group__memtest=memtest))
    assert found.startswith(says), found


def test_level_1_is_not_offered() -> None:
    assert all(level.dcgm_level >= 2 and level.takes_s[0] < level.takes_s[1] for level in memtest_levels().values())


def run(tmp_path: Path, answer: str, code: int = 0, *, engine: int = 0, starts: int | None = None) -> tuple[int, str]:
    """Run the program against a dcgmi that answers so; its exit code and termination message."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    (tmp_path / "answer").write_text(answer)
    fakes = {
        "dcgmi": f'if [ "$1" = discovery ]; then exit {engine}; fi\n'
        f'echo "$@" >>{tmp_path}/args; cat {tmp_path}/answer; exit {code}'
    }
    if starts is not None:
        fakes["nv-hostengine"] = f"echo started; exit {starts}"
    for name, body in fakes.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    message = tmp_path / "message"
    done = subprocess.run(
        ["sh", "-c", script(), NAME, "2", "memory"],
        env={"PATH": f"{programs}:/usr/bin:/bin", "MEMTEST_TERMINATION_LOG": str(message)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "not found" not in done.stderr, done.stderr
    return done.returncode, message.read_text() if message.exists() else ""


@pytest.mark.parametrize("answer", [PASSED, OLD])
def test_a_passed_test_lets_the_job_start(tmp_path: Path, answer: str) -> None:
    assert run(tmp_path, answer) == (0, "")
    assert (tmp_path / "args").read_text() == "diag -r 2\n"


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (FAILED, 226, "a test of dcgmi diag -r 2 failed: | memory "),
        (FAILED, 0, "a test of dcgmi diag -r 2 failed: | memory "),
        (SKIPPED, 0, "did not say that memory passed: nothing is proven"),
        (HEAD, 0, "did not say that memory passed: nothing is proven"),
        ("", 0, "did not say that memory passed: nothing is proven"),
        ("Error: unable to establish a connection", 255, "ended with exit code 255: Error: unable to establish a connection"),
        (PASSED, 1, "ended with exit code 1"),
    ],
)
def test_anything_else_keeps_it_from_starting(tmp_path: Path, answer: str, code: int, says: str) -> None:
    ended, message = run(tmp_path, answer, code)
    assert ended == 1
    assert says in message
    assert "\n" not in message


def test_an_engine_is_started_where_none_answers(tmp_path: Path) -> None:
    assert run(tmp_path, PASSED, engine=1, starts=0) == (0, "")
    assert "nv-hostengine did not start: started" in run(tmp_path, PASSED, engine=1, starts=1)[1]


def test_missing_programs_are_named(tmp_path: Path) -> None:
    assert "has no nv-hostengine" in run(tmp_path, PASSED, engine=1)[1]
    done = subprocess.run(
        ["/bin/sh", "-c", script(), NAME, "2", "memory"],
        env={"PATH": "/nowhere", "MEMTEST_TERMINATION_LOG": str(tmp_path / "message")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "the image has no dcgmi" in (tmp_path / "message").read_text()
