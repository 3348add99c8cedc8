"""One measurement of the controller, in a thread of its own: a pair, a node alone, or the whole group.

It labels nothing: it has a result.
"""

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gpufabric.validation import alone, clock, ending, gate_json, leftovers, nodes
from gpufabric.validation.api import Api, ApiError, Json
from gpufabric.validation.controller_decide import Measure
from gpufabric.validation.ending import Ending, Stopped, Undecided
from gpufabric.validation.group_run import GroupRun
from gpufabric.validation.nodes import Group
from gpufabric.validation.pairs import pair_gate
from gpufabric.validation.ranks import Pace, Ranks, check_placement

LATE: Final = 0
"""The round of a pair that the controller makes, in the names of its Job; the coordinator's search counts from 1."""


@dataclass
class Run:
    """What is measured, and its result once `ending` is there. `cancelled`: the result must not count."""

    what: Measure
    slot: int
    gate: gate_json.Gate
    group: Group
    started_at: str
    ending: Ending | None = None
    output: str = ""
    cancelled: bool = False
    owner_uid: str = ""
    thread: threading.Thread | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        return "pair" if self.what.partner else "node" if self.what.alone else "group"

    @property
    def done(self) -> bool:
        return self.thread is not None and not self.thread.is_alive()


def gate_of(gate: gate_json.Gate, what: Measure, slot: int, priority_class: str = "") -> gate_json.Gate:
    """The gate that the run follows. A pair's clocks are the group's: a node that has just joined pulls the image first.

    `priority_class`: of a pair's ranks, so that no job is faster than they are.
    """
    if what.alone:
        return alone.gate_of(gate, what.nodes[0], f"{gate.names.rank_job}-{LATE}-{slot}")
    if not what.partner:
        return gate
    node, partner = what.nodes
    pair = pair_gate(gate, (node, partner), LATE, slot, timeouts=gate.timeouts)
    if priority_class:
        pair.rank_job["spec"]["template"]["spec"]["priorityClassName"] = priority_class  # the pair's own copy
    return pair


def start(api: Api, run: Run, owner: Json, pace: Pace) -> None:
    """Begin to measure; `run.done` says when there is a result."""

    def say(text: str) -> None:
        if run.cancelled:  # a search for the node would begin its next round
            raise Stopped
        print(f"{run.kind} {', '.join(run.what.nodes)}: {text}", flush=True)

    whole = GroupRun(api, run.gate, run.group, owner, say=say, pace=pace) if run.kind == "group" else None
    ranks = whole.ranks if whole else Ranks(api, run.gate, run.group, say, pace)

    def work() -> None:
        try:
            found = _measure(api, ranks, whole, run, owner=owner, pace=pace)
            if unfit := ranks.unfit():  # names the node; a partner that is unfit leaves the other unknown
                found = ending.with_findings(found, unfit)
            run.ending = ranks.with_stages(found)
        except Stopped:
            print(f"{run.kind} {', '.join(run.what.nodes)}: stopped", flush=True)
        finally:
            try:
                run.output = whole.output() if whole else ""
                _delete(api, run)
            except ApiError as error:
                print(f"the rank Job was not deleted: {error}", flush=True)

    run.owner_uid = str(owner["metadata"]["uid"])
    run.started_at = clock.now()
    run.thread = threading.Thread(target=work, name=f"run-{run.slot}", daemon=True)
    run.thread.start()


def cancel(api: Api, run: Run) -> None:
    """Stop it: its Job goes, the thread notices, and its result does not count."""
    if not run.cancelled:
        run.cancelled = True
        _delete(api, run)


def _delete(api: Api, run: Run) -> None:
    """A run of the group has pairs too; a coordinator's Job has the same name, and is not touched."""
    if run.kind == "group":
        leftovers.delete(api, run.gate, owned_by=run.owner_uid)
    else:
        Ranks(api, run.gate, run.group, print, Pace()).delete()


def _measure(api: Api, ranks: Ranks, whole: GroupRun | None, run: Run, *, owner: Json, pace: Pace) -> Ending:
    def guarded(step: Callable[[], Ending]) -> Ending:
        names = run.group.names
        try:
            return step()
        except Undecided as undecided:
            return ending.of_undecided(undecided, names)
        except ApiError as error:
            return ending.of_api_error(error, names)
        except Exception as error:  # noqa: BLE001  # whatever it is, the node must say so
            traceback.print_exc()
            return ending.of_internal_error(error, names)

    def step() -> Ending:
        _clear(api, ranks, run, pace)
        if whole is not None:
            return whole.measure()
        ranks.create(owner)
        followed = ranks.follow()
        check_placement(followed, run.group)
        nodes.check_unchanged(run.group, nodes.find(api, run.gate.node_selector))
        return ending.of_measurement(followed.measurement, run.group.names, explained=followed.explained)

    return guarded(step)


def _clear(api: Api, ranks: Ranks, run: Run, pace: Pace) -> None:
    """An earlier Job of the same name and its pods: they would be taken for this run's."""
    end = time.monotonic() + pace.removal
    while api.find(ranks.job_path) is not None or ranks.pods():
        if time.monotonic() >= end:
            raise Undecided(f"the Job {ranks.name} of an earlier run does not go away", "remove it", nodes=run.group.names)
        ranks.delete()
        time.sleep(pace.poll)
