"""A sample stack of this repository, run by the real engine through AWS's own provider."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpufabric.spec import CONFIG_KEY
from tools.awsprovider.plans import config_of, declared
from tools.awsprovider.seeds import seed
from tools.awsprovider.session import Session
from tools.engine import Engine, make_project
from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.standin.standin import StandIn, running
from tools.standin.verdicts import hold_verdicts

STACKS = REPOSITORY / "stacks"
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


def samples() -> dict[str, Path]:
    """The stack files for AWS, by stack name."""
    return {path.name.split(".")[1]: path for path in sorted(STACKS.glob("Pulumi.aws-*.yaml"))}


@dataclass(frozen=True)
class Life:
    """One stack in an account of its own."""

    name: str
    engine: Engine
    session: Session
    cluster: StandIn

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """`preview`, `up` or `destroy` to its end."""
        asked = () if command == "preview" else ("--yes", "--skip-preview")
        try:
            return self.engine.run(command, *asked, *options, "--stack", self.name, timeout_s=TIMEOUT_S)
        except subprocess.TimeoutExpired as hung:
            log = (hung.stdout or b"").decode() if isinstance(hung.stdout, bytes) else hung.stdout
            raise ToolError(f"pulumi {command} of {self.name} hung for {TIMEOUT_S} s:\n{log}") from None
        finally:
            self.session.proxy.rest()

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
def life(session: Session, name: str, program: Path, config: Mapping[str, Any], folder: Path) -> Iterator[Life]:
    """A new stack of a program. The cluster that it makes is played by the stand-in for Kubernetes: moto's has no nodes."""
    session.reset()
    with running(folder / "cluster.sqlite", "kubernetes") as cluster:
        ports = {**cluster.ports, "aws": session.port}
        debug = {"PULUMI_DEBUG_PROVIDERS": ",".join(f"{provider}:{port}" for provider, port in ports.items())}
        # The program itself may ask AWS, too.
        extra = {**session.emulator.environment, **debug}
        engine = Engine(folder / "state", None, make_project(folder / "project", program), extra)
        file = engine.project / f"Pulumi.{name}.yaml"
        file.write_text(yaml.safe_dump({"config": {**config, **NAMES}}), encoding="utf-8")
        engine.select(name)
        yield Life(name, engine, session, cluster)


@contextmanager
def sample_life(session: Session, name: str, folder: Path) -> Iterator[Life]:
    """A sample's own stack."""
    config = config_of(samples()[name])
    program = folder / "program"
    program.mkdir()
    (program / "__main__.py").write_text(PROGRAM.format(now=NOW, program=str(STACKS)), encoding="utf-8")
    with life(session, name, program, config, folder) as made:
        wish = config[CONFIG_KEY]
        seed(declared(config), wish["region"])
        hold_verdicts(made.cluster, name, wish)
        yield made
