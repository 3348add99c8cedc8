"""Build what is missing, one program at a time, each installed by a rename: a killed run loses only the one in progress."""

import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

from tools.errors import ToolError
from tools.folders import cache_folder, locked
from tools.toolchain.fewer_services import prepare
from tools.toolchain.programs import Program

# Since 1.21 the go command fetches the release that a go.mod names; 1.25 is the oldest that reads the ones here.
OLDEST_GO = (1, 25)
REPORT_EVERY_SECONDS = 15


def missing(programs: list[Program]) -> list[Program]:
    """Those that would have to be built."""
    return [p for p in programs if not p.installed.exists()]


def ensure_built(programs: list[Program]) -> int:
    """Build what is missing and return how many were built; two callers take turns and the second builds nothing."""
    if not missing(programs):
        return 0
    go = find_go()
    with locked(cache_folder() / "programs", waiting="another build is running; waiting for it"):
        todo = missing(programs)
        for number, program in enumerate(todo, start=1):
            _build(go, program, f"[{number}/{len(todo)}]")
    return len(todo)


def find_go() -> str:
    """The go command, new enough."""
    go = shutil.which("go")
    wanted = ".".join(map(str, OLDEST_GO))
    fix = f"install Go {wanted} or newer and put it on PATH, or install the official Pulumi CLI if only the engine is needed"
    if go is None:
        raise ToolError(f"programs have to be built and there is no `go` on PATH; {fix}")
    told = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()
    found = re.match(r"go(\d+)\.(\d+)", told)
    if not found or (int(found[1]), int(found[2])) < OLDEST_GO:
        raise ToolError(f"{go} is {told or 'of unknown version'}, too old to build the pinned programs; {fix}")
    return go


def _build(go: str, program: Program, position: str) -> None:
    title = f"{position} {program.name} {program.version}"
    print(f"{title}: building; a cold build takes about {_duration(program.cold_seconds)} on 2 cores", flush=True)
    target = program.installed
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    for left in target.parent.glob(f".{target.name}.*"):
        left.unlink()  # of a killed build: the lock says that nobody is writing it
    started = time.monotonic()
    source = target.with_name("source")
    shutil.rmtree(source, ignore_errors=True)
    reduced = ["-modfile", str(prepare(go, program, source))] if program.services else []
    flags = ["-trimpath", "-ldflags", " ".join(program.ldflags)]
    command = [go, "build", *reduced, *flags, "-o", str(unfinished), program.package]
    log = target.with_name("build.log")
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=program.module, env=_environment(), stdout=output, stderr=subprocess.STDOUT)
        done = threading.Event()
        reporter = threading.Thread(target=_report, args=(title, program.cold_seconds, started, done), daemon=True)
        reporter.start()
        try:
            status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            done.set()
            reporter.join()
    if status != 0:
        raise ToolError(f"building {program.name} {program.version} failed; {log} ends with:\n{_tail(log)}")
    log.unlink()
    _keep_files(go, program)
    shutil.rmtree(source, ignore_errors=True)
    unfinished.rename(target)
    print(f"{title}: built in {_duration(time.monotonic() - started)}", flush=True)


def _keep_files(go: str, program: Program) -> None:
    """Copy what the program needs of its own module: the module cache may be emptied, or be another one the next time."""
    if not program.files:
        return
    command = [go, "list", "-f", "{{.Module.Dir}}", program.package]
    told = subprocess.run(command, cwd=program.module, env=_environment(), capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise ToolError(f"`{' '.join(command)}` failed: {told.stderr.strip()[-600:]}")
    source = Path(told.stdout.strip())
    shutil.rmtree(program.share, ignore_errors=True)
    for name in program.files:
        files = sorted((source / name).rglob("*")) if (source / name).is_dir() else [source / name]
        for file in files:
            if file.is_file():
                copy = program.share / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(file.read_bytes())  # not copytree: the module cache is read-only, and so would the copies be


def _environment() -> dict[str, str]:
    """A go.work of a folder above must not change what the pinned go.mod says."""
    return {**os.environ, "GOWORK": "off"}


def _report(title: str, typical_seconds: int, started: float, done: threading.Event) -> None:
    while not done.wait(REPORT_EVERY_SECONDS):
        elapsed = _duration(time.monotonic() - started)
        print(f"{title}: {elapsed} of about {_duration(typical_seconds)}", flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
