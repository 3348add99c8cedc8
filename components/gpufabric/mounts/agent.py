"""The agent beside a mount: looks at it twice a second; tells the barrier, Prometheus and the cluster what is not uploaded.

It changes nothing: uploads go on without it, and a barrier that does not hear it says so.
"""

import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpufabric.mounts import contract
from gpufabric.mounts.cache import Cache
from gpufabric.mounts.figures import metrics_text, report, status_text
from gpufabric.mounts.sample import Sample, look
from gpufabric.validation.api import Api, ApiError, path
from gpufabric.validation.files import write_whole
from gpufabric.validation.prometheus import serve

_REPORT_EVERY_SECONDS = 5.0
_REST_SHARE = 4  # after a long look, four times its length of rest: a million records are not read without a pause


@dataclass(slots=True)
class Agent:
    """``tell`` hands a sample to the cluster; it may raise ApiError, and is then asked again."""

    folder: Path
    socket: str
    cache: Cache | None
    mount: str
    node: str
    tell: Callable[[Sample], None]
    sample: Sample = field(default_factory=lambda: Sample(mounted=False, message="not looked at yet"))
    _run: str = field(default_factory=lambda: uuid.uuid4().hex)
    _heart: int = 0
    _number: int = 0
    _told: tuple[int, int] | None = None
    _told_at: float = float("-inf")

    def step(self) -> float:
        """Look once and tell; how long the look took, seconds."""
        started = time.monotonic()
        self.sample = look(self.folder, self.socket, self.cache)
        self._number += 1
        self.beat()
        self._report()
        return time.monotonic() - started

    def beat(self) -> None:
        """Write the status again: the barrier then knows that somebody is there, though nothing new is known."""
        self._heart += 1
        if self.folder.is_dir():
            text = status_text(self.sample, run=self._run, heart=self._heart, number=self._number)
            write_whole(self.folder / contract.STATUS, text)

    def _report(self) -> None:
        """Clean or not is told at once, amounts every few seconds."""
        now, said = time.monotonic(), (self.sample.left, self.sample.dirty.bytes)
        same_kind = self._told is not None and (self._told[0] == 0) == (said[0] == 0)
        if said == self._told or (same_kind and now - self._told_at < _REPORT_EVERY_SECONDS):
            return
        try:
            self.tell(self.sample)
        except ApiError as error:
            print(f"agent: {error}", file=sys.stderr, flush=True)
        else:
            self._told = said
        self._told_at = now

    def metrics(self) -> str:
        return metrics_text(self.sample, mount=self.mount, node=self.node)


def teller(environment: Mapping[str, str]) -> Callable[[Sample], None]:
    """How the cluster is told; not at all where no namespace is given."""
    namespace, mount = environment.get(contract.ENV_NAMESPACE, ""), environment[contract.ENV_NAME]
    node = environment.get(contract.ENV_NODE, "")
    if not namespace:
        return lambda _: None
    api = Api.in_cluster()
    at = path("configmaps", contract.report_name(mount, node), namespace=namespace)

    def tell(sample: Sample) -> None:
        api.apply(at, report(sample, mount=mount, node=node, namespace=namespace), contract.FIELD_MANAGER)

    return tell


def make(environment: Mapping[str, str]) -> Agent:
    """The agent that the environment describes."""
    mount = environment[contract.ENV_NAME]
    cache = environment.get(contract.ENV_CACHE)
    return Agent(
        folder=Path(contract.folder(contract.HOST_ROOT, mount)),
        socket=contract.SOCKET,
        cache=Cache(Path(cache)) if cache else None,
        mount=mount,
        node=environment.get(contract.ENV_NODE, ""),
        tell=teller(environment),
    )


def main() -> int:
    """Run until the mount beside it has ended: the barrier in its preStop listens to this process."""
    agent = make(os.environ)
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    port = int(os.environ.get(contract.ENV_PORT, "0"))
    if port:
        serve(port, agent.metrics, lambda: "")
    while True:
        took = agent.step()
        if ending.is_set() and not agent.sample.mounted:
            return 0
        rest_until = time.monotonic() + max(contract.SAMPLE_SECONDS, _REST_SHARE * took)
        while (rest := rest_until - time.monotonic()) > 0:
            time.sleep(min(rest, 1.0))
            if rest > 1.0:
                agent.beat()


if __name__ == "__main__":
    sys.exit(main())
