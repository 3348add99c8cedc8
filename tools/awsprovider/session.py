"""One AWS to try programs against: moto, the recorder before it, the proxy that Pulumi attaches to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.awsprovider.emulator import Emulator
from tools.awsprovider.proxy import Proxy, serve
from tools.awsprovider.recorder import Recorder

# AWS's provider waits between two looks at what is being made, and before the first, unless told that it replays a recording
# (internal/retry/state.go). Only its own tests then have it read one: here the requests go out as ever.
AT_ONCE = {"VCR_MODE": "REPLAY_ONLY", "VCR_PATH": "/nonexistent"}


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
        # S3 Control puts the account before the host's name, and no resolver knows 123456789012.127.0.0.1.
        environment = {
            **emulator.environment,
            **AT_ONCE,
            "HTTP_PROXY": emulator.environment["AWS_ENDPOINT_URL"],
            "NO_PROXY": "",
        }
        proxy = Proxy(environment, log)
        server, port = serve(proxy)
        try:
            yield Session(port, emulator, proxy)
        finally:
            server.stop(grace=0).wait()
            proxy.rest()
