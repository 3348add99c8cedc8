"""One stack from its first preview to its destruction, with the providers that a test attaches."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.engine import Engine, make_project
from tools.errors import ToolError
from tools.samples.plans import STACKS
from tools.standin.standin import StandIn, running

# Pulumi's random endings would make every record another one; these are as long.
NAMES = {"pulumi:autonaming": {"pattern": "${name}-0000000"}}
TIMEOUT_S = 240
# The time of the golden plans: reserved capacity has windows.
NOW = "2026-12-01T00:00:00+00:00"
PROGRAM = """import runpy
from datetime import datetime

from gpufabric.kubernetes import clock

clock.now = lambda: datetime.fromisoformat("{now}")
runpy.run_path("{program}", run_name="__main__")
"""


@dataclass(frozen=True)
class Life:
    """One stack in an account of its own."""

    name: str
    engine: Engine
    cluster: StandIn
    rest: Callable[[], None]
    """Ends what the providers leave running behind each command."""

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """`preview`, `up` or `destroy` to its end."""
        asked = () if command == "preview" else ("--yes", "--skip-preview")
        try:
            return self.engine.run(command, *asked, *options, "--stack", self.name, timeout_s=TIMEOUT_S)
        except subprocess.TimeoutExpired as hung:
            log = (hung.stdout or b"").decode() if isinstance(hung.stdout, bytes) else hung.stdout
            raise ToolError(f"pulumi {command} of {self.name} hung for {TIMEOUT_S} s:\n{log}") from None
        finally:
            self.rest()

    def succeed(self, command: str, *options: str) -> str:
        """Run what must succeed; its log."""
        done = self.run(command, *options)
        if done.returncode:
            raise ToolError(f"pulumi {command} of {self.name} failed:\n{done.stdout}")
        return done.stdout

    def unprotect(self) -> None:
        """What the documentation advises before a destroy of what is kept."""
        self.engine.run("state", "unprotect", "--all", "--yes", "--stack", self.name, timeout_s=TIMEOUT_S)


@contextmanager
def life(
    name: str,
    program: Path,
    config: Mapping[str, Any],
    folder: Path,
    *,
    ports: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
    rest: Callable[[], None] = lambda: None,
) -> Iterator[Life]:
    """A new stack of a program. The cluster that it makes is played by the stand-in for Kubernetes: none here has nodes.

    ``ports``: where providers listen that the engine shall attach to. ``environment``: for the engine, plugins and program.
    """
    with running(folder / "cluster.sqlite", "kubernetes") as cluster:
        attached = {**cluster.ports, **(ports or {})}
        debug = {"PULUMI_DEBUG_PROVIDERS": ",".join(f"{provider}:{port}" for provider, port in attached.items())}
        engine = Engine(folder / "state", None, make_project(folder / "project", program), {**(environment or {}), **debug})
        file = engine.project / f"Pulumi.{name}.yaml"
        file.write_text(yaml.safe_dump({"config": {**config, **NAMES}}), encoding="utf-8")
        engine.select(name)
        yield Life(name, engine, cluster, rest)


def stacks_at_golden_time(folder: Path) -> Path:
    """The samples' program, made to believe that it is the time of the golden plans."""
    program = folder / "program"
    program.mkdir()
    (program / "__main__.py").write_text(PROGRAM.format(now=NOW, program=str(STACKS)), encoding="utf-8")
    return program
