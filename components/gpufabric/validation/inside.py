"""Stage 1: whether the ranks of this node work together. rank.sh runs them before anybody is let in, the judge decides here."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from gpufabric.validation import contract, gate_json
from gpufabric.validation.files import number_in, small, text_of
from gpufabric.validation.inside_wish import Inside
from gpufabric.validation.judge import judge
from gpufabric.validation.measurement import InsideResult, Measurement

CAUSE: Final = "inside"
_OVERTIME_SECONDS: Final = 30.0
"""After the clock of rank.sh, for the case that even a KILL does not end a process in the driver."""


def expectation(wish: Inside, backend: str, collective: str) -> gate_json.Expectation:
    """What the judge holds the output against. No floor is known: 0, under which nothing lies."""
    return gate_json.Expectation(
        backend=backend,
        collective=collective,
        ranks=wish.ranks,
        ranks_per_node=wish.ranks,
        min_bytes=wish.min_bytes,
        max_bytes=wish.max_bytes,
        factor=wish.factor,
        floor_busbw_gbytes_per_s=wish.floor_busbw_gbytes_per_s or 0.0,
        floor_source=wish.floor_source,
    )


class Watch:
    """Waits for the stage of the rank container beside us, without blocking. Nothing to wait for: passed, with no result."""

    def __init__(self, shared: Path, gate: gate_json.Gate | None) -> None:
        self.folder, self.gate = shared / "inside", gate
        self.begun_at: float | None = None
        self.found: Measurement | None = None
        if gate is None or gate.inside is None:
            self.found = Measurement("pass", "nothing to measure inside the node")

    @property
    def on_gpus(self) -> bool:
        """Whether its ranks are GPUs, which are read while they work."""
        return self.gate is not None and self.gate.inside is not None and self.gate.inside.on_gpus

    @staticmethod
    def of(shared: Path, plan: Path, environment: Mapping[str, str]) -> "Watch":
        """By gate.json's wish, unless this run does without: a pair of nodes that have been through it.

        A plan that cannot be read asks for nothing: the judge's verdict says so.
        """
        if not environment.get(contract.ENV_INSIDE_SECONDS):
            return Watch(shared, None)
        try:
            return Watch(shared, gate_json.parse(plan.read_text("utf-8")))
        except (OSError, ValueError):
            return Watch(shared, None)

    def look(self) -> Measurement | None:
        """The judged stage, once it has ended or its time is over; None before."""
        if self.found is None and self.gate is not None and self.gate.inside is not None:
            stuck = self._stuck(self.gate.inside.seconds)
            if (self.folder / "exit-code").exists() or stuck:
                self.found = self._judged(self.gate, self.gate.inside, stuck)
        return self.found

    def _judged(self, gate: gate_json.Gate, wish: Inside, stuck: str) -> Measurement:
        wanted = expectation(wish, gate.expectation.backend, gate.expectation.collective)
        error, code = small(self.folder / "error") or stuck, number_in(self.folder / "exit-code")
        found = judge(text_of(self.folder / "output"), wanted, exit_code=code, error=error)
        if code is None and found.outcome != "fail":
            found = replace(found, outcome="unknown", reason=stuck)
        result = InsideResult(found.outcome, found.reason, found.cause, found.busbw_gbytes_per_s, found.size_bytes)
        return replace(found, cause="" if found.outcome == "pass" else CAUSE, inside=result)

    def _stuck(self, seconds: int) -> str:
        if self.begun_at is None and (self.folder / "begun").exists():
            self.begun_at = time.monotonic()
        if self.begun_at is None or time.monotonic() - self.begun_at < seconds + _OVERTIME_SECONDS:
            return ""
        return f"the benchmark inside the node did not end within {seconds} s and could not be stopped"
