"""Starts this node's ranks of the torch backend and watches them: what torchrun would do, which images may lack.

    python3 -m gpufabric.validation.torch_launch [--check | --inside] --reason FILE --device cuda -b 8M -e 8G …

One process per rank, `torch_allreduce`. They meet at index 0, by its name in the headless Service, which may come late;
`--inside`: only the ranks of this node (stage 1), at localhost. No ssh, and nothing is started on other nodes. `--check`: only
whether the image has torch. Environment: `contract.rank_environment`.

Exit codes: those of `torch_allreduce`, the first rank's that failed; 72 also where the name is not known in time, 75 where a
rank was killed, 124 where the sweep did not end in time. `--reason`: a file for one line that says why, if not 0 or 1.
"""

import argparse
import contextlib
import importlib.util
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final

from gpufabric.validation import contract
from gpufabric.validation.torch_allreduce import EXIT_IMAGE, EXIT_PEERS, EXIT_RANK, MET, MODULE

EXIT_TIMEOUT: Final = 124
_POLL_SECONDS: Final = 0.2
_CAUSE_SECONDS: Final = 5.0
"""A rank that was killed is the cause, a rank that then lost its peer is not: the second waits, so that the first is told."""
_OTHERS_SECONDS: Final = 20
"""Index 0 has the word on the sweep's time: the launchers of other indices wait so much longer."""


class LaunchError(Exception):
    """Why there is no table; `code` is the exit code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Place:
    """What to start here. `meet_s` counts from now, `sweep_s` from when all ranks have met."""

    index: int
    nodes: int
    ranks: int
    host: str
    port: int
    interface: str
    meet_s: int
    sweep_s: int

    @staticmethod
    def of(environment: Mapping[str, str]) -> "Place":
        """The group's run. On index 0 the ranks meet at localhost: the name of the pod itself may come late too."""
        index = int(environment[contract.ENV_INDEX])
        first = f"{environment[contract.ENV_HOST_PREFIX]}-0.{environment[contract.ENV_SERVICE]}"
        stages_s = sum(int(environment.get(name) or 0) for name in (contract.ENV_INSIDE_SECONDS, contract.ENV_DCGM_SECONDS))
        return Place(
            index=index,
            nodes=int(environment[contract.ENV_NODES]),
            ranks=int(environment[contract.ENV_RANKS_PER_NODE]),
            host="localhost" if index == 0 else first,
            port=contract.MEETING_PORT,
            interface=environment[contract.ENV_INTERFACE],
            meet_s=int(environment[contract.ENV_START_SECONDS]) + stages_s,
            sweep_s=int(environment[contract.ENV_BENCHMARK_SECONDS]) + (_OTHERS_SECONDS if index else 0),
        )

    def inside(self, environment: Mapping[str, str]) -> "Place":
        """Stage 1: this node for itself."""
        seconds, ranks = int(environment[contract.ENV_INSIDE_SECONDS]), int(environment[contract.ENV_INSIDE_RANKS])
        alone = replace(self, index=0, nodes=1, ranks=ranks, host="localhost", port=contract.MEETING_PORT + 1)
        return replace(alone, meet_s=seconds, sweep_s=seconds)


def wait_for_name(place: Place) -> None:
    """Until index 0 can be found. Raises LaunchError with the resolver's last word."""
    end = time.monotonic() + place.meet_s
    while last := _unknown(place):
        if time.monotonic() >= end:
            raise LaunchError(EXIT_PEERS, f"the name of index 0 ({place.host}) is not known after {place.meet_s} s: {last}")
        time.sleep(_POLL_SECONDS)


def _unknown(place: Place) -> str:
    try:
        socket.getaddrinfo(place.host, place.port)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def start(place: Place, arguments: Sequence[str], events: int, environment: Mapping[str, str]) -> list[subprocess.Popen[bytes]]:
    """This node's ranks. Their output is ours."""
    own = {"WORLD_SIZE": str(place.nodes * place.ranks), "GLOO_SOCKET_IFNAME": place.interface}
    clocks = ["--at", f"{place.host}:{place.port}", "--meet-seconds", str(place.meet_s), "--seconds", str(place.sweep_s)]
    command = [sys.executable, "-m", MODULE, *clocks, "--events", str(events), *arguments]
    out = []
    for local in range(place.ranks):
        ids = {"RANK": str(place.index * place.ranks + local), "LOCAL_RANK": str(local)}
        out.append(subprocess.Popen(command, env={**environment, **own, **ids}, pass_fds=[events], stdin=subprocess.DEVNULL))
    return out


class Watch:
    """Waits for the ranks: all well, the first that is not, or a clock."""

    def __init__(self, place: Place, ranks: Sequence[subprocess.Popen[bytes]], events: int) -> None:
        self.place, self.ranks, self.events = place, ranks, events
        self.met, self.reasons = False, list[str]()
        self.end = time.monotonic() + place.meet_s + _CAUSE_SECONDS  # the ranks' own clock rings first: it says who is missing

    def wait(self) -> int:
        """0 or 1 when all have ended so. Raises LaunchError."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.events, selectors.EVENT_READ)
            while True:
                if selector.select(_POLL_SECONDS):
                    self._read()
                codes = [rank.poll() for rank in self.ranks]
                if all(code in (0, 1) for code in codes):
                    return max(code or 0 for code in codes)
                self._look(codes)
                if time.monotonic() >= self.end:
                    raise self._late()

    def _read(self) -> None:
        for line in os.read(self.events, 1 << 16).decode("utf-8", "replace").splitlines():
            if line != MET:
                self.reasons.append(line)
            elif not self.met:
                self.met, self.end = True, time.monotonic() + self.place.sweep_s

    def _look(self, codes: Sequence["int | None"]) -> None:
        for local, code in enumerate(codes):
            if code is not None and code < 0:
                number = self.place.index * self.place.ranks + local
                raise LaunchError(EXIT_RANK, f"rank {number} was killed by signal {-code} ({signal.strsignal(-code)})")
        failed = [code for code in codes if code is not None and code > 1]
        if failed:
            if failed[0] == EXIT_RANK:
                time.sleep(_CAUSE_SECONDS)
            self._read_rest()
            code_text, _, said = (self.reasons or [""])[0].partition(" ")
            raise LaunchError(int(code_text) if said else failed[0], said or f"a rank ended with exit code {failed[0]}")

    def _read_rest(self) -> None:
        os.set_blocking(self.events, False)
        with contextlib.suppress(BlockingIOError):
            self._read()

    def _late(self) -> LaunchError:
        if self.met:
            return LaunchError(EXIT_TIMEOUT, f"the benchmark did not end within {self.place.sweep_s} s and was stopped")
        where = f"{self.place.host}:{self.place.port}"
        return LaunchError(EXIT_PEERS, f"the ranks did not meet at {where} within {self.place.meet_s} s")


def launch(place: Place, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Start and watch; nothing of it runs any more afterwards. Raises LaunchError."""
    wait_for_name(place)
    read, write = os.pipe()
    ranks = start(place, arguments, write, environment)
    os.close(write)
    try:
        return Watch(place, ranks, read).wait()
    finally:
        for rank in ranks:
            rank.kill()
        for rank in ranks:
            rank.wait()
        os.close(read)


def check() -> None:
    """Raises LaunchError where the image has no torch. Does not import it: that takes seconds, and each rank will."""
    if importlib.util.find_spec("torch") is None:
        raise LaunchError(EXIT_IMAGE, f"the image has no torch for its python3 ({sys.executable})")


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Returns the exit code; the reason, if any, is in the file and on stderr."""
    parser = argparse.ArgumentParser(prog="torch_launch", description=__doc__, add_help=False, allow_abbrev=False)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--reason", type=Path, required=True)
    given, of_rank = parser.parse_known_args(arguments)
    try:
        check()
        if given.check:
            return 0
        place = Place.of(environment)
        return launch(place.inside(environment) if given.inside else place, of_rank, environment)
    except LaunchError as error:
        print(f"# error: {error}", file=sys.stderr, flush=True)
        with contextlib.suppress(OSError):
            given.reason.write_text(f"{error}\n", "utf-8")
        return error.code


if __name__ == "__main__":

    def _stop(_signal: int, _frame: "FrameType | None") -> None:
        sys.exit(143)

    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main(sys.argv[1:], os.environ))
