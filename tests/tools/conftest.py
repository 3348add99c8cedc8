"""A cache of its own for every test, and a stand-in for the go command."""

import os
from pathlib import Path

import pytest

from tools.toolchain.programs import Program

# Writes the file that -o names, and a line per build; says what it is told to about its version; fails or hangs on demand.
FAKE_GO = """#!/bin/sh
if [ "$1" = env ]; then echo "${FAKE_GO_VERSION:-go1.26.0}"; exit 0; fi
if [ "$1" = list ]; then echo "$FAKE_GO_SOURCE"; exit 0; fi
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then output=$2; fi
  shift
done
echo "$1" >> "$FAKE_GO_LOG"
case "$1" in
  *broken*) echo "undefined: everything" >&2; exit 1;;
  *endless*) if [ -n "$FAKE_GO_HANGS" ]; then echo half > "$output"; echo $$ > "$FAKE_GO_LOG.pid"; exec sleep 600; fi;;
esac
echo program > "$output"
chmod +x "$output"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPUFABRIC_CACHE", str(folder))
    monkeypatch.setenv("GPUFABRIC_STATE", str(tmp_path / "state"))
    return folder


@pytest.fixture
def go_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the fake go first on PATH; the file lists the packages it was asked to build."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "go").write_text(FAKE_GO)
    (folder / "go").chmod(0o755)
    log = tmp_path / "go.log"
    log.touch()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GO_LOG", str(log))
    return log


def a_program(folder: Path, name: str = "tool", group: str = "cluster", package: str = "example.com/tool") -> Program:
    """A program whose module lies in a folder of the test."""
    module = folder / "module"
    module.mkdir(exist_ok=True)
    (module / "go.mod").write_text("module m\n")
    return Program(name, "1.0.0", group, module, package, ("-s",), 5)
