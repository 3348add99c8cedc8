"""A long-running program of a machine, described by its command and its configuration files."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.localcluster import processes
from tools.localcluster.commands import ENVIRONMENT
from tools.localcluster.machine import Machine
from tools.localcluster.waits import wait_until

# kube-apiserver ignores SIGTERM for a minute while clients watch.
GRACE_SECONDS = 3.0


@dataclass(frozen=True)
class Daemon:
    """What should run: compared with what runs, so that starting is the same as healing."""

    name: str
    machine: Machine
    command: tuple[str, ...]
    files: dict[Path, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """Output of all its runs."""
        return self.machine.folder / "logs" / f"{self.name}.log"

    def pids(self) -> list[int]:
        """Processes of this program on the machine, in whatever version and with whatever flags."""
        return [
            pid for pid, line in self.machine.daemons().items() if line and Path(line[0]).name == Path(self.command[0]).name
        ]

    def running(self) -> bool:
        """Exactly this command runs."""
        return list(self.command) in self.machine.daemons().values()

    def as_configured(self) -> bool:
        """It runs, and its files say what they should."""
        return self.files_current() and self.running()

    def ensure(self) -> bool:
        """Start it unless it runs as configured; says whether it had to."""
        if self.as_configured():
            return False
        self.stop()
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as output:
            # setsid --fork leaves the machine's process 1 as parent: nothing of the daemon remains outside.
            subprocess.run(
                self.machine.inside("setsid", "--fork", *self.command),
                env=ENVIRONMENT,
                cwd="/",
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return True

    def wait_until(self, what: str, condition: Callable[[], bool], timeout_seconds: float) -> None:
        """Wait for what this program should bring about; no longer than it lives, and with its log in the error."""
        wait_until(what, condition, timeout_seconds, self.log, hopeless=lambda: not self.running())

    def stop(self) -> None:
        """End it, politely first."""
        for pid in self.pids():
            processes.end(pid, lambda p: p in self.pids(), grace_seconds=GRACE_SECONDS)

    def files_current(self) -> bool:
        """Its configuration files say what they should."""
        return all(path.exists() and path.read_text() == text for path, text in self.files.items())
