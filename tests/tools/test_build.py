"""Builds: only what is missing, one at a time, whole or not at all, and errors that say what to do."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.conftest import a_program
from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.localcluster.waits import wait_until
from tools.toolchain.build import ensure_built, find_go, missing


def test_a_second_run_builds_nothing(tmp_path: Path, go_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = [a_program(tmp_path, "one", package="p/one"), a_program(tmp_path, "two", package="p/two")]
    assert ensure_built(programs) == 2
    said = capsys.readouterr().out
    assert "[1/2] one 1.0.0: building; a cold build takes about 5 s" in said
    assert "[2/2] two 1.0.0: built in" in said
    assert ensure_built(programs) == 0
    assert go_log.read_text().split() == ["p/one", "p/two"]
    assert os.access(programs[0].installed, os.X_OK)
    assert [path.name for path in programs[0].installed.parent.iterdir()] == ["one"]


def test_only_the_changed_program_is_built_again(tmp_path: Path, go_log: Path) -> None:
    kept, changed = a_program(tmp_path, "kept"), a_program(tmp_path, "changed", package="p/old")
    ensure_built([kept, changed])
    ensure_built([kept, a_program(tmp_path, "changed", package="p/new")])
    assert go_log.read_text().split()[-1] == "p/new"
    assert len(go_log.read_text().split()) == 3


def test_a_failed_build_names_its_log_and_keeps_the_earlier_ones(tmp_path: Path, go_log: Path) -> None:
    good, bad = a_program(tmp_path, "good"), a_program(tmp_path, "bad", package="p/broken")
    with pytest.raises(ToolError, match=r"(?s)building bad 1.0.0 failed; .*build.log ends with:\nundefined: everything"):
        ensure_built([good, bad])
    assert missing([good, bad]) == [bad]


def test_files_of_its_module_are_kept_beside_the_program(tmp_path: Path, go_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    for name in ("config/crd/a.yaml", "config/crd/deeper/b.yaml", "config/role.yaml", "config/other.yaml"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"{name} {go_log}")
        (source / name).chmod(0o444)  # as the module cache has them
    monkeypatch.setenv("FAKE_GO_SOURCE", str(source))
    program = dataclasses.replace(a_program(tmp_path), files=("config/crd", "config/role.yaml"))
    ensure_built([program])
    kept = {str(file.relative_to(program.share)): file.read_text() for file in program.share.rglob("*.yaml")}
    wanted = ("config/crd/a.yaml", "config/crd/deeper/b.yaml", "config/role.yaml")
    assert kept == {name: f"{name} {go_log}" for name in wanted}
    assert program.share.parent == program.installed.parent


KILLED = """
import sys
from pathlib import Path
from tests.tools.conftest import a_program
from tools.toolchain.build import ensure_built
folder = Path(sys.argv[1])
ensure_built([a_program(folder, "first"), a_program(folder, "second", package="p/endless")])
"""


def test_a_killed_build_loses_only_the_program_in_progress(tmp_path: Path, go_log: Path) -> None:
    pid_file = Path(f"{go_log}.pid")
    command, environment = [sys.executable, "-c", KILLED, str(tmp_path)], {**os.environ, "FAKE_GO_HANGS": "1"}
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL) as builder:
        wait_until("the second build to begin", lambda: pid_file.exists() and bool(pid_file.read_text()), 20)
        builder.kill()
    os.kill(int(pid_file.read_text()), signal.SIGKILL)
    programs = [a_program(tmp_path, "first"), a_program(tmp_path, "second", package="p/endless")]
    second = programs[1].installed
    assert missing(programs) == [programs[1]]
    assert list(second.parent.glob(".second.*"))
    assert ensure_built(programs) == 1
    assert [path.name for path in second.parent.iterdir()] == ["second"]
    assert second.read_text() == "program\n"


def test_two_builders_take_turns(tmp_path: Path, go_log: Path) -> None:
    script = "import sys; from pathlib import Path; from tests.tools.conftest import a_program\n"
    script += "from tools.toolchain.build import ensure_built; ensure_built([a_program(Path(sys.argv[1]))])"
    builders = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=REPOSITORY) for _ in range(3)]
    assert [builder.wait() for builder in builders] == [0, 0, 0]
    assert go_log.read_text().split() == ["example.com/tool"]


def test_no_go_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"no `go` on PATH; install Go 1\.25 or newer"):
        find_go()


def test_an_old_go_is_refused(monkeypatch: pytest.MonkeyPatch, go_log: Path) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", "go1.19.8")
    with pytest.raises(ToolError, match=r"is go1\.19\.8, too old .* install Go 1\.25"):
        find_go()


def test_the_command_line_reports_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.toolchain", "ensure", "nonsense"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: no program or group named 'nonsense'")
    assert len(done.stderr.splitlines()) == 1
