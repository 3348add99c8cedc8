"""What Prometheus reads of the controller."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpufabric.validation import controller_contract as words
from gpufabric.validation.controller_state import State
from gpufabric.validation.prometheus import family

_HELP: Final[Mapping[str, tuple[str, str]]] = {
    "gpufabric_node_validated": ("gauge", "1 for the outcome that the node carries; only pass opens it to jobs."),
    "gpufabric_validation_busbw_gbytes_per_s": ("gauge", "Bus bandwidth of the node's last verdict, 1e9 bytes per second."),
    "gpufabric_validation_last_run_timestamp_seconds": ("gauge", "When the node's last verdict was written."),
    "gpufabric_validation_runs_total": ("counter", "Runs of this controller, by what was measured and how it ended."),
    "gpufabric_validation_running": ("gauge", "Runs of this controller that are under way."),
    "gpufabric_controller_last_look_timestamp_seconds": ("gauge", "When the controller last looked at the nodes."),
}


class Metrics:
    """The latest figures; written by the loop, read by the server's threads."""

    def __init__(self, group: str, now: Callable[[], float], stale_s: float) -> None:
        self.group, self.now, self.stale_s = group, now, stale_s
        self.lock = threading.Lock()
        self.runs: Counter[tuple[str, str]] = Counter()
        self.states: Sequence[State] = ()
        self.looked_at = now()
        self.running = 0

    def look(self, states: Sequence[State] | None, running: int) -> None:
        """The loop went round; `states` None where it did not look at the nodes."""
        with self.lock:
            self.looked_at, self.running = self.now(), running
            if states is not None:
                self.states = tuple(state for state in states if state.member)

    def ran(self, kind: str, outcome: str) -> None:
        """A run ended. `kind`: pair | node | group; `outcome`: pass | fail | unknown | interrupted."""
        with self.lock:
            self.runs[kind, outcome] += 1

    def problem(self) -> str:
        """What is wrong with the controller itself; empty: nothing."""
        with self.lock:
            return "" if self.now() - self.looked_at < self.stale_s else "the controller does not look at its nodes"

    def text(self) -> str:
        """Text format 0.0.4 of Prometheus."""
        with self.lock:
            return "".join(self._family(name) for name in _HELP)

    def _family(self, name: str) -> str:
        kind, about = _HELP[name]
        return family(name, kind, about, [({"group": self.group, **labels}, value) for labels, value in self._samples(name)])

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        records = [(state, state.record) for state in self.states]
        samples: dict[str, list[tuple[dict[str, str], float]]] = {
            "gpufabric_node_validated": [({"node": each.name, "outcome": outcome_of(each)}, 1.0) for each in self.states],
            "gpufabric_validation_busbw_gbytes_per_s": [
                ({"node": each.name}, record.busbw_gbytes_per_s)
                for each, record in records
                if record is not None and record.busbw_gbytes_per_s is not None
            ],
            "gpufabric_validation_last_run_timestamp_seconds": [
                ({"node": each.name}, record.at) for each, record in records if record is not None and record.at
            ],
            "gpufabric_validation_runs_total": [
                ({"kind": kind, "outcome": outcome}, float(count)) for (kind, outcome), count in sorted(self.runs.items())
            ],
            "gpufabric_validation_running": [({}, float(self.running))],
            "gpufabric_controller_last_look_timestamp_seconds": [({}, self.looked_at)],
        }
        return samples[name]


def outcome_of(state: State) -> str:
    """pass | fail | unknown as labelled; pending for a node that waits to be measured, deferred while busy; else closed."""
    if state.label:
        return state.label
    waits = {words.WHY_PENDING: "pending", words.WHY_BUSY: "deferred"}
    return waits.get(state.hold.why, "closed") if state.hold is not None else "closed"
