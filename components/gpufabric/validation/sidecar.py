"""The small container beside each rank (our image, no token): lets the rank into the group's run; on index 0 judges it.

Each first judges the readings of its node's health (stage 0) and the run among the node's own ranks (stage 1). Where either
did not pass nobody is let in, so that the node never joins a network run, and the Measurement says so at once (cause `health`
or `inside`). To let in means: the public key of rank 0, or `shared/let-in` where there is no ssh (torch). Of a node that is
opened alone, stage 1 is the result. Index 0 serves only `shared/id.pub`, as /key, on GATE_KEY_PORT;
prints the benchmark's output to stdout as it grows (the coordinator reads this log for progress); when `shared/exit-code` is
there, or GATE_DEADLINE_SECONDS have passed, or on SIGTERM, it judges and leaves the Measurement as its termination message.
Exit 0 whatever the outcome: that is in the message. Other indices fetch the key, write `shared/authorized_keys` and end: 0
with their node's health in the message, or 1 with the reason.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Final

from gpufabric.validation import contract, gate_json, health, health_load, inside, keys
from gpufabric.validation.also import judge_run
from gpufabric.validation.files import TAIL_BYTES, number_in, small, text_of, write_whole
from gpufabric.validation.health_report import Report
from gpufabric.validation.measurement import Measurement

_POLL_SECONDS: Final = 0.2
_DEFAULT_DEADLINE_SECONDS: Final = 3600.0


class SidecarError(Exception):
    """A reason why this container cannot do its part; the text is its termination message."""


@dataclass(frozen=True)
class Place:
    """Where this container finds and leaves things, from its environment (`contract.rank_environment`).

    `ranks`: how many to expect where that is not gate.json's number, else 0. `alone`: no network run follows stage 1.
    """

    index: int
    shared: Path
    plan: Path
    termination_log: Path
    key_url: str
    key_port: int
    deadline_s: float
    ranks: int
    alone: bool

    @staticmethod
    def of(environment: Mapping[str, str]) -> "Place":
        """Raises SidecarError for a missing or malformed variable."""
        root = Path(environment.get(contract.ENV_ROOT, contract.ROOT))

        def whole(name: str, default: float | None = None) -> float:
            text = environment.get(name, "")
            if text.isascii() and text.isdigit():
                return float(text)
            if default is not None and not text:
                return default
            raise SidecarError(f"{name} is {text!r}, not a whole number")

        port = int(whole(contract.ENV_KEY_PORT, contract.KEY_PORT))
        first = f"{environment.get(contract.ENV_HOST_PREFIX, '')}-0.{environment.get(contract.ENV_SERVICE, '')}"
        return Place(
            index=int(whole(contract.ENV_INDEX)),
            shared=root / Path(contract.SHARED_DIR).relative_to(contract.ROOT),
            plan=root / Path(contract.GATE_FILE).relative_to(contract.ROOT),
            termination_log=Path(environment.get(contract.ENV_TERMINATION_LOG, contract.TERMINATION_LOG)),
            key_url=f"http://{first}:{port}/key",
            key_port=port,
            deadline_s=whole(contract.ENV_DEADLINE_SECONDS, _DEFAULT_DEADLINE_SECONDS),
            ranks=int(whole(contract.ENV_RANKS, 0)),
            alone=environment.get(contract.ENV_ALONE) == "1",
        )


def authorize(place: Place, key: str) -> None:
    """Let the key log in here: commands only, nothing forwarded."""
    write_whole(place.shared / "authorized_keys", f"restrict {keys.public_key(key)}\n")


class Output:
    """The benchmark's output file, echoed to stdout line by line while it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        self.rest = b""

    def echo(self, *, last: bool = False) -> None:
        """Print the whole lines that came since; with `last` also an unfinished one."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.at)
                new = file.read(TAIL_BYTES)
        except OSError:
            return
        self.at += len(new)
        *whole, self.rest = (self.rest + new).split(b"\n")
        if last and self.rest:
            whole.append(self.rest)
            self.rest = b""
        for line in whole:
            print(line.decode("utf-8", "replace"))
        sys.stdout.flush()


def verdict(place: Place, output: str, stopped: str) -> Measurement:
    """Judge what is there. `stopped`: why the benchmark was not waited for to its end, if so."""
    try:
        gate = gate_json.parse(place.plan.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return Measurement("unknown", f"the judge cannot read the plan: {error}")
    code = number_in(place.shared / "exit-code")
    wanted = replace(gate.expectation, ranks=place.ranks or gate.expectation.ranks)
    found = judge_run(output, wanted, exit_code=code, error=small(place.shared / "error"))
    if code is None and found.outcome != "fail":
        return Measurement(**{**found.__dict__, "outcome": "unknown", "reason": f"{stopped or 'no exit code'}; {found.reason}"})
    return found


class Entry:
    """What must be known of this node before its rank is let in: stages 0 and 1."""

    def __init__(self, place: Place, environment: Mapping[str, str]) -> None:
        self.place = place
        self.health = health.Watch.of(place.shared, place.plan)
        self.inside = inside.Watch.of(place.shared, place.plan, environment)
        self.report: Report | None = None

    def look(self) -> Measurement | None:
        """Pass: let it in; another outcome: do not, and this is why. None: not known yet."""
        self.report = self.report or self.health.look()
        if self.report is None:
            return None
        if self.report.fatal:
            return self.with_health(self.health.measurement(self.report))
        first, found = self.inside.found is None, self.inside.look()
        if found is None:
            return None
        if first and self.health.wish and self.inside.on_gpus:
            self.report = self.report.with_later(health_load.look(self.place.shared / "load", self.health.wish))
            return self.look()
        return self.with_health(found)

    def with_health(self, found: Measurement) -> Measurement:
        """The measurement, and what stages 0 and 1 found."""
        report = self.report if self.health.wish else None
        return replace(found, health=report, inside=self.inside.found.inside if self.inside.found else None)

    def let_in(self, key: str) -> None:
        """`key` empty: the rank needs none."""
        if key:
            authorize(self.place, key)
        else:
            write_whole(self.place.shared / "let-in", "")


def needs_key(place: Place) -> bool:
    """Whether the ranks are started over ssh. A plan that cannot be read is told by the verdict."""
    try:
        return gate_json.parse(place.plan.read_text("utf-8")).expectation.backend != "torch"
    except (OSError, ValueError):
        return True


def other(place: Place, entry: Entry, stop: threading.Event) -> Measurement:
    """Index 1 and up: the node's own stages, then the key."""
    end = time.monotonic() + place.deadline_s
    while (found := entry.look()) is None:
        if stop.wait(_POLL_SECONDS) or time.monotonic() >= end:
            missing = "result of its own ranks" if entry.report else "health readings"
            raise SidecarError(f"the rank container left no {missing} within {place.deadline_s:g} s")
    if found.outcome == "pass":
        entry.let_in(keys.fetch_key(place.key_url, end - time.monotonic()) if needs_key(place) else "")
        return entry.with_health(Measurement("pass", "the node may take part"))
    return found


def first(place: Place, entry: Entry, stop: threading.Event) -> Measurement:
    """Index 0, from the node's own stages and the key to the verdict."""
    end, keyed = time.monotonic() + place.deadline_s, needs_key(place)
    output, key_file, reason = Output(place.shared / "output"), place.shared / "id.pub", ""
    server = keys.KeyServer(place.key_port, key_file)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        let_in = False
        while not (place.shared / "exit-code").exists():
            if stop.is_set() or time.monotonic() >= end:
                asked = "the pod was stopped (SIGTERM) before the benchmark ended"
                reason = asked if stop.is_set() else f"the benchmark did not end within {place.deadline_s:g} s"
                break
            found = entry.look()
            if found is not None and (found.outcome != "pass" or place.alone):
                return found
            if not let_in and found is not None and (key_file.exists() or not keyed):
                entry.let_in(key_file.read_text("ascii", "replace") if keyed else "")
                let_in = True
            output.echo()
            stop.wait(_POLL_SECONDS)
        output.echo(last=True)
        if place.alone and (found := entry.look()) is not None:
            return found
        return entry.with_health(verdict(place, text_of(output.path), reason))
    finally:
        server.shutdown()
        server.server_close()


def main(environment: Mapping[str, str], stop: threading.Event) -> int:
    """Do this container's part; returns the exit code."""
    log = Path(environment.get(contract.ENV_TERMINATION_LOG, contract.TERMINATION_LOG))
    try:
        place = Place.of(environment)
        entry = Entry(place, environment)
        found = first(place, entry, stop) if place.index == 0 else other(place, entry, stop)
        place.termination_log.write_text(found.to_json(), "utf-8")
    except (SidecarError, keys.KeyUnusableError, OSError) as error:
        print(f"sidecar: {error}", file=sys.stderr)
        log.write_text(Measurement("unknown", f"the judge failed: {error}").to_json(), "utf-8")
        return 1
    except Exception as error:  # noqa: BLE001  # whatever it is, the coordinator must learn of it
        log.write_text(Measurement("unknown", f"internal error in the judge, please report it: {error!r}").to_json(), "utf-8")
        return 1
    return 0


if __name__ == "__main__":
    stop_asked = threading.Event()

    def _stop(_signal: int, _frame: FrameType | None) -> None:
        stop_asked.set()

    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main(os.environ, stop_asked))
