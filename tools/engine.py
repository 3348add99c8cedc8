"""The Pulumi engine on this machine: where it keeps its state, which programs it finds, and how a stack of ours is run."""

import json
import os
import secrets
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.toolchain.cli import path_folder

PROJECT = "gpufabric"


def make_project(folder: Path, program: Path) -> Path:
    """A project in a new folder whose program is another folder's, so that stack files and states do not meet."""
    folder.mkdir()
    (folder / "program").symlink_to(program)
    runtime = {"name": "python", "options": {"virtualenv": sys.prefix}}
    settings = {"name": PROJECT, "runtime": runtime, "main": "program", "stackConfigDir": "."}
    (folder / "Pulumi.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    return folder


@dataclass(frozen=True)
class Engine:
    """Pulumi with a local backend in ``state``: nothing is asked of Pulumi's service; a passphrase file encrypts secrets."""

    state: Path
    kubeconfig: Path | None = None
    project: Path = REPOSITORY
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every call."""
        backend = self.state / "backend"
        backend.mkdir(parents=True, exist_ok=True)
        passphrase = self.state / "passphrase"
        if not passphrase.exists():
            passphrase.touch(mode=0o600)
            passphrase.write_text(secrets.token_urlsafe(24), encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": f"{path_folder()}{os.pathsep}{os.environ['PATH']}",
            # Metadata would lie in a second file beside each state; Pulumi killed while it writes that one reads neither again.
            "PULUMI_BACKEND_URL": f"{backend.as_uri()}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_SKIP_CONFIRMATIONS": "true",
            **self.extra,
        }
        environment.pop("PULUMI_CONFIG_PASSPHRASE", None)
        environment.pop("VIRTUAL_ENV", None)
        if self.kubeconfig is not None:
            environment["KUBECONFIG"] = str(self.kubeconfig)
        return environment

    def command(self, *arguments: str) -> list[str]:
        """The command line of one call."""
        return ["pulumi", "--non-interactive", "--color", "never", "--cwd", str(self.project), *arguments]

    def run(self, *arguments: str, timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
        """Run to the end; standard output and error together in ``stdout``."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        """Start in a process group of its own, output into ``log``: for tests that kill it."""
        with log.open("wb") as output:
            return subprocess.Popen(
                self.command(*arguments),
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stream(self, *arguments: str) -> int:
        """Run with the caller's terminal; the exit code."""
        return subprocess.run(self.command(*arguments), env=self.environment, stdin=subprocess.DEVNULL, check=False).returncode

    def select(self, stack: str) -> None:
        """Make the stack if it is not there yet."""
        made = self.run("stack", "init", stack)
        if made.returncode and "already exists" not in made.stdout:
            raise ToolError(f"pulumi stack init {stack}: {made.stdout.strip()}")

    def unlock(self, stack: str) -> bool:
        """Take away the lock that a killed `up` of this machine left, never one whose process lives. True if one was taken."""
        locks = self.state / "backend" / ".pulumi" / "locks" / "organization" / PROJECT / stack
        owners = [json.loads(lock.read_text("utf-8")) for lock in locks.glob("*.json")] if locks.is_dir() else []
        here = [owner for owner in owners if owner.get("hostname") == socket.gethostname()]
        if not here or any(Path(f"/proc/{owner['pid']}").exists() for owner in here):
            return False
        return self.run("cancel", "--yes", "--stack", stack).returncode == 0

    def outputs(self, stack: str) -> dict[str, Any]:
        """The stack's outputs; secrets stay hidden."""
        out = subprocess.run(
            self.command("stack", "output", "--json", "--stack", stack),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        read: dict[str, Any] = json.loads(out.stdout)
        return read

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """The resources in the stack's state."""
        found: list[dict[str, Any]] = self.state_of(stack)["deployment"].get("resources") or []
        return found

    def state_of(self, stack: str) -> dict[str, Any]:
        """The whole state, as `pulumi stack export` writes and `pulumi stack import` reads it."""
        out = subprocess.run(
            self.command("stack", "export", "--stack", stack), env=self.environment, capture_output=True, text=True, check=True
        )
        read: dict[str, Any] = json.loads(out.stdout)
        return read
