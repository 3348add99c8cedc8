"""The language host: found interpreter, end of life, programs that run twice, plugins' output."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import pytest
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from tools.language_host.interpreter import interpreter_of, is_ours
from tools.toolchain.path import LANGUAGE_HOST


@pytest.fixture
def stub() -> Iterator[language_pb2_grpc.LanguageRuntimeStub]:
    environment = {**os.environ, "GPUFABRIC_PYTHON": sys.executable}
    with subprocess.Popen([LANGUAGE_HOST, "127.0.0.1:1"], env=environment, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        with grpc.insecure_channel(f"127.0.0.1:{host.stdout.readline().strip()}") as channel:
            yield language_pb2_grpc.LanguageRuntimeStub(channel)
        host.kill()


def info(folder: Path, virtualenv: str = "") -> language_pb2.ProgramInfo:
    result = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    if virtualenv:
        result.options["virtualenv"] = virtualenv
    return result


def ended(handle: int) -> bool:
    """Is the process of this pidfd gone within ten seconds?"""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(poll.poll(10_000))
    finally:
        os.close(handle)


def test_a_missing_interpreter_is_one_clear_line() -> None:
    environment = {**os.environ, "GPUFABRIC_PYTHON": "/nonexistent/python"}
    done = subprocess.run([LANGUAGE_HOST, "x"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no Python at /nonexistent/python; make the virtual environment, or set GPUFABRIC_PYTHON" in done.stderr


def test_the_virtualenv_option_chooses_the_interpreter(tmp_path: Path) -> None:
    assert interpreter_of(info(tmp_path)) == sys.executable
    assert interpreter_of(info(tmp_path, "absent")) == sys.executable
    other = tmp_path / "env" / "bin" / "python"
    other.parent.mkdir(parents=True)
    other.symlink_to(sys.executable)
    assert interpreter_of(info(tmp_path, "env")) == str(other)
    assert not is_ours(str(other))
    assert is_ours(sys.executable)


def test_the_host_ends_with_the_engine() -> None:
    """A stand-in for the engine starts the host, says its pid and is killed."""
    script = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True); \
p.stdout.readline(); print(p.pid, flush=True); p.wait()"
    environment = {**os.environ, "GPUFABRIC_PYTHON": sys.executable}
    command = [sys.executable, "-c", script, str(LANGUAGE_HOST), "127.0.0.1:1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        handle = os.pidfd_open(int(engine.stdout.readline()))
        engine.kill()
    assert ended(handle)


def test_the_host_ends_at_once_when_the_engine_asks(tmp_path: Path) -> None:
    """And takes a plugin along; the engine would wait for five seconds, twice in each command."""
    (tmp_path / "__main__.py").write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    environment = {**os.environ, "GPUFABRIC_PYTHON": sys.executable}
    with subprocess.Popen([LANGUAGE_HOST, "127.0.0.1:1"], env=environment, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        with grpc.insecure_channel(f"127.0.0.1:{host.stdout.readline().strip()}") as channel:
            request = language_pb2.RunPluginRequest(kind="resource", pwd=str(tmp_path), info=info(tmp_path))
            plugin = int(next(language_pb2_grpc.LanguageRuntimeStub(channel).RunPlugin(request)).stdout)
            handle = os.pidfd_open(plugin)
            host.send_signal(signal.SIGINT)
            try:
                assert host.wait(timeout=4) == 0
            finally:
                host.kill()  # leaving the block waits for it
    assert ended(handle)


def test_a_plugins_output_and_status_are_passed_on(tmp_path: Path, stub: language_pb2_grpc.LanguageRuntimeStub) -> None:
    program = "import os, sys; print(sys.argv[1:], os.environ['X']); print('bad', file=sys.stderr); sys.exit(3)"
    (tmp_path / "__main__.py").write_text(program)
    request = language_pb2.RunPluginRequest(
        kind="resource", args=["engine"], env=["X=a=b"], pwd=str(tmp_path), info=info(tmp_path)
    )
    answers = list(stub.RunPlugin(request))
    assert b"".join(a.stdout for a in answers).decode() == f"{[str(tmp_path), 'engine']} a=b\n"
    assert b"".join(a.stderr for a in answers).decode() == "bad\n"
    assert answers[-1].exitcode == 3
