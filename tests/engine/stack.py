"""A stack whose cloud is the stand-in: the real engine runs the program, and the cloud and the state can be compared."""

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.engine import Engine, make_project
from tools.resume import resume
from tools.standin.standin import StandIn, running

TIMEOUT_S = 300


@dataclass(frozen=True)
class EngineStack:
    """One stack, its engine and its cloud."""

    name: str
    engine: Engine
    cloud: StandIn

    def write(self, config: Mapping[str, Any]) -> None:
        """Write the stack file; Pulumi's own keys in it are kept."""
        file = self.engine.project / f"Pulumi.{self.name}.yaml"
        kept = yaml.safe_load(file.read_text("utf-8")) if file.exists() else {}
        file.write_text(yaml.safe_dump({**(kept or {}), "config": dict(config)}), encoding="utf-8")

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """`up`, `destroy`, ... to its end."""
        return self.engine.run(*self._arguments(command), *options, timeout_s=TIMEOUT_S)

    def succeed(self, command: str, *options: str) -> dict[str, int]:
        """Run what must succeed; how many resources were created, updated, ... or left unchanged."""
        done = self.run(command, *options)
        assert done.returncode == 0, done.stdout
        return counts(done.stdout)

    def start(self, command: str, log: Path) -> subprocess.Popen[bytes]:
        """`up`, `destroy`, ..., running, in a process group of its own."""
        return self.engine.start(*self._arguments(command), log=log)

    def kill_at(self, fault: int, command: str, log: Path) -> None:
        """Kill the whole engine when the cloud hangs in that fault's call. Then nothing hangs any more."""
        process = self.start(command, log)
        try:
            self.cloud.await_fault(fault)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.cloud.lift_faults()

    def resume(self) -> dict[str, str | None]:
        """What the documentation advises after a kill."""
        return resume(self.engine, self.name, self.cloud.search)

    def known(self) -> set[tuple[str, str]]:
        """Type and id of every object that the state answers for."""
        found = (each for each in self.engine.resources(self.name) if each.get("custom") and not each.get("external"))
        return {(each["type"], each["id"]) for each in found if not each["type"].startswith("pulumi:")}

    def orphans(self) -> set[tuple[str, str]]:
        """What lies in the cloud and in no state."""
        return {(each.kind, each.id) for each in self.cloud.objects()} - self.known()

    def assert_converged(self) -> None:
        """One of everything in the cloud, and the state knows all of it and nothing else."""
        held = self.cloud.objects()
        known = self.known()
        assert {(each.kind, each.id) for each in held} - known == set()
        assert known - {(each.kind, each.id) for each in held} == set()
        twice = [urn for urn, number in Counter(each.urn for each in held).items() if number > 1]
        assert twice == []

    def _arguments(self, command: str) -> list[str]:
        asked = [] if command == "preview" else ["--yes", "--skip-preview"]
        return [command, *asked, "--stack", self.name]


def counts(log: str) -> dict[str, int]:
    """The engine's summary: ``{"created": 11}``."""
    summary = log.rpartition("\nResources:\n")[2].partition("\n\n")[0]
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w[\w ]*)", summary) if not word.startswith("change")}


@contextmanager
def made_stack(
    name: str, folder: Path, program: Path, *providers: str, kubeconfig: Path | None = None
) -> Iterator[EngineStack]:
    """A new stack of a program over an empty cloud of these providers. ``kubeconfig``: of the cluster that it asks itself."""
    with running(folder / "cloud.sqlite", *providers) as cloud:
        engine = Engine(folder / "state", kubeconfig, make_project(folder / "project", program), cloud.environment)
        engine.select(name)
        yield EngineStack(name, engine, cloud)
