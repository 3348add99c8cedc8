"""One AWS to try programs against: moto, the recorder before it, the proxy that Pulumi attaches to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.awsprovider.emulator import Emulator
from tools.awsprovider.proxy import Proxy, serve
from tools.awsprovider.recorder import Recorder


@dataclass(frozen=True)
class Session:
    """A running one."""

    port: int
    """Where the provider ``aws`` listens, for PULUMI_DEBUG_PROVIDERS."""
    emulator: Emulator
    proxy: Proxy

    @property
    def recorder(self) -> Recorder:
        """What was sent since the last ``reset``."""
        return self.emulator.recorder

    def reset(self) -> None:
        """An empty account."""
        self.proxy.rest()
        self.emulator.reset()


@contextmanager
def running(log: Path) -> Iterator[Session]:
    """A session until the block ends; bridges write into ``log``."""
    with Emulator() as emulator:
        proxy = Proxy(emulator.environment, log)
        server, port = serve(proxy)
        try:
            yield Session(port, emulator, proxy)
        finally:
            server.stop(grace=0).wait()
            proxy.rest()
