"""The gate kept running: validates nodes that join, are rebooted, repaired or replaced, and opens them, without `pulumi up`.

A loop that looks at the group's nodes every few seconds (`controller_state`), decides (`controller_decide`) and does it. Only
the leader acts (`controller_lease`), and nobody while a coordinator of the group runs: that one closes and labels all nodes.
Measurements run in threads (`controller_run`), so that a node that dies meanwhile is closed at once; only this loop writes.
"""

import hashlib
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Final

from gpufabric.validation import busy, contract, controller_run, controller_settle, gate_json, leftovers, nodes
from gpufabric.validation import controller_contract as words
from gpufabric.validation import controller_state as state
from gpufabric.validation.api import Api, ApiError, Json, path
from gpufabric.validation.controller_decide import (
    Action,
    Clear,
    Close,
    Lock,
    Measure,
    Pend,
    Reserve,
    Restore,
    Unlock,
    Wanted,
    decide,
    needs_partner,
)
from gpufabric.validation.controller_lease import DURATION_SECONDS, Lease, LostLeadError
from gpufabric.validation.controller_marks import Marks
from gpufabric.validation.controller_metrics import Metrics
from gpufabric.validation.controller_reserve import Reservations
from gpufabric.validation.controller_run import Run
from gpufabric.validation.controller_settle import Doubt
from gpufabric.validation.ending import Stopped, Undecided
from gpufabric.validation.nodes import Group
from gpufabric.validation.prometheus import serve
from gpufabric.validation.ranks import Pace

POLL_SECONDS: Final = 3.0
BUSY_SECONDS: Final = 15.0  # between listings of all pods, while a node needs a partner; who is idle is confirmed before a run
STALE_SECONDS: Final = 180.0  # a request that is tried five times takes 80


class StartAnewError(Exception):
    """This process must end and be started again by the kubelet; the text says why."""


class Controller:
    """The loop's memory: the runs that are under way. All else is read from the cluster each time."""

    def __init__(
        self,
        api: Api,
        gate: gate_json.Gate,
        name: str,
        owner: Json,
        *,
        pace: Pace,
        metrics: Metrics,
        busy_s: float = BUSY_SECONDS,
        priority_class: str = "",
    ) -> None:
        self.api, self.gate, self.name, self.owner, self.pace, self.metrics = api, gate, name, owner, pace, metrics
        self.busy_s, self.busy_at, self.busy = busy_s, -math.inf, set[str]()
        self.marks = Marks(api, name, taint=gate.hold == "taint")
        self.runs: list[Run] = []
        alone = gate.single_node_ok and gate.inside is not None
        self.wanted = Wanted(gate.nodes, gate.fingerprint, gate.hold == "taint", alone)
        self.resources = state.device_resources(gate.rank_job)
        self.reservations = Reservations(api, gate, owner, self.resources, priority_class)
        self.doubts: dict[str, Doubt] = {}
        self.waits_for = ""

    def look(self) -> None:
        """One round: settle what has ended, then decide and act. Raises ApiError; the next round begins anew."""
        raw = self._nodes()
        coordinator = self._coordinator()
        if coordinator != self.waits_for:
            print(f"{coordinator} is at work: nothing is done meanwhile" if coordinator else "at work again", flush=True)
            self.waits_for = coordinator
        for run in [each for each in self.runs if each.done]:
            self.runs.remove(run)
            if coordinator:
                run.cancelled = True
            self.metrics.ran(run.kind, self._settle(run, raw))
            raw = self._nodes()
        if coordinator:
            for run in self.runs:
                controller_run.cancel(self.api, run)
            self.reservations.look()
            self.reservations.want(0)  # its ranks need the devices
            self.metrics.look(self._states(raw, set()), len(self.runs))
            return
        self.reservations.look()
        states = self._states(raw, set())
        if any(needs_partner(each, time.time()) for each in states):
            placed = set(self.reservations.placed)  # a moment ago they were busy, as far as is remembered
            states = self._states(raw, (self._busy() - placed) | (self._busy_now(sorted(placed)) if placed else set()))
        actions = decide(states, time.time(), self.wanted)
        for action in actions:
            try:
                self._do(action, raw)
            except ApiError as error:  # one node that cannot be written must not keep the others waiting
                print(f"{action}: {error}", flush=True)
        wish = next((action for action in actions if isinstance(action, Reserve)), Reserve(0))
        try:
            self.reservations.want(wish.count, wish.but)
        except ApiError as error:  # a quota, or an admission policy: without a placeholder a partner is waited for all the same
            print(f"no node is reserved: {error}", flush=True)
        self.metrics.look(self._states(self._nodes(), set()), len(self.runs))

    def clean(self) -> None:
        """Before the first round: rank Jobs of a controller that is gone. Those of a coordinator that runs are its own."""
        if not self._coordinator():
            patience_s = min(self.pace.removal, DURATION_SECONDS / 2)  # the lease must not run out meanwhile; it comes again
            leftovers.remove(self.api, self.gate, what="what was left", poll_s=self.pace.poll, patience_s=patience_s)

    def stop(self) -> None:
        """End what runs; the rank Jobs and placeholders also go with this pod, which owns them."""
        for run in self.runs:
            controller_run.cancel(self.api, run)

    def _settle(self, run: Run, raw: Mapping[str, Json]) -> str:
        return controller_settle.settle(
            self.api, self.gate, self.marks, run, raw=raw, busy=self._busy_now(run.what.nodes), doubts=self.doubts
        )

    def _do(self, action: Action, raw: Mapping[str, Json]) -> None:
        match action:
            case Close(node, why, reason):
                self.marks.close(raw[node], why, reason)
            case Restore(node):
                self.marks.restore(raw[node])
            case Pend(node, reason, why):
                self.marks.pend(raw[node], why, reason)
            case Lock(node):
                self.marks.lock(raw[node])
            case Unlock(node):
                self.marks.unlock(raw[node])
            case Clear(node):
                self.marks.clear(raw[node])
            case Measure(names, partner):
                if found := self._busy_now(names):
                    self.busy |= found  # it came a moment ago; the next look decides anew
                    return
                if partner in self.reservations.placed:
                    self.marks.reserve(raw[partner], f"reserved for a moment: {names[0]} is measured with it")
                    self.reservations.release(partner)
                self._measure(action, raw)
                for name in names:
                    if name != partner:
                        others = ", ".join(each for each in names if each != name)
                        self.marks.tell(raw[name], f"validation with {others} begins" if others else "validation begins")

    def _measure(self, what: Measure, raw: Mapping[str, Json]) -> None:
        slot = next(number for number in range(len(self.runs) + 1) if all(run.slot != number for run in self.runs))
        group = Group(tuple(nodes.of(raw[name]) for name in what.nodes))
        run = Run(what, slot, controller_run.gate_of(self.gate, what, slot, self.reservations.priority_class), group, "")
        controller_run.start(self.api, run, self.owner, self.pace)
        self.runs.append(run)

    def _nodes(self) -> dict[str, Json]:
        labels = ",".join(f"{key}={value}" for key, value in sorted(self.gate.node_selector.items()))
        return {raw["metadata"]["name"]: raw for raw in self.api.list(path("nodes"), labels=labels)}

    def _busy(self) -> set[str]:
        """Nodes with other pods on them, as of the last few seconds."""
        if time.monotonic() - self.busy_at >= self.busy_s:
            pods = self.api.each(path("pods"), fields=busy.ALIVE)
            self.busy = {pod.node for pod in busy.occupants(pods, self.gate.namespace)}
            self.busy_at = time.monotonic()
        return self.busy

    def _busy_now(self, names: Sequence[str]) -> set[str]:
        """Those of the nodes that have other pods on them at this moment."""
        return {pod.node for pod in busy.on(self.api, names, self.gate.namespace)}

    def _states(self, raw: Mapping[str, Json], occupied: set[str]) -> list[state.State]:
        running = {name for run in self.runs for name in run.what.nodes}
        out = []
        for name, each in raw.items():
            found = state.of(each, self.gate.node_selector, self.resources, busy=name in occupied, running=name in running)
            doubt = self.doubts.get(name)
            doubted = doubt.partner if doubt is not None and doubt.boot_id == found.boot_id else ""
            out.append(replace(found, reserved=name in self.reservations.placed, doubted=doubted))
        return out

    def _coordinator(self) -> str:
        """The group's coordinator Job that has not ended, if there is one."""
        labels = ",".join(f"{k}={v}" for k, v in contract.labels(self.gate.group, contract.CONTAINER_COORDINATOR).items())
        for job in self.api.list(path("jobs", namespace=self.gate.namespace, group="batch"), labels=labels):
            conditions = (job.get("status") or {}).get("conditions") or []
            if not any(each.get("type") in ("Complete", "Failed") and each.get("status") == "True" for each in conditions):
                return str(job["metadata"]["name"])
        return ""


def keep(
    controller: Controller,
    lease: Lease,
    metrics: Metrics,
    *,
    poll_s: float,
    changed: Callable[[], bool] = lambda: False,
    rounds: int | None = None,
) -> None:
    """Lead, look, sleep; `rounds` ends it after some (tests).

    Raises StartAnewError when the lease is lost after it was held, also in the middle of a look: somebody else may lead by now,
    no node may be written. And when `changed` says that plan or programs are not those that this process read, once no
    measurement is under way.
    """
    led, left = False, rounds
    while left is None or left > 0:
        left = None if left is None else left - 1
        if lease.hold():
            try:
                if not led:
                    controller.clean()
                    led = True
                controller.look()
            except LostLeadError as error:
                raise StartAnewError(str(error)) from None
            except (ApiError, Undecided) as error:
                print(f"this look failed: {error}", flush=True)
                metrics.look(None, len(controller.runs))  # the loop lives; a restart would not help
        elif led:
            raise StartAnewError("the lead is lost")
        else:
            metrics.look(None, 0)  # a stand-by is healthy
        if not controller.runs and changed():
            raise StartAnewError("the plan or the programs have changed")
        time.sleep(poll_s)


def _digest(root: Path) -> str:
    """Of everything that this process was started with: a ConfigMap's files change under it."""
    digest = hashlib.sha256()
    for folder in (contract.PACKAGE_DIR, contract.PLAN_DIR):
        for file in sorted((root / Path(folder).relative_to(contract.ROOT)).glob("*.*")):
            digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def main(environment: Mapping[str, str]) -> int:
    """Run until SIGTERM (0) or until it has to start anew (1: the kubelet does that)."""
    root = Path(environment.get(contract.ENV_ROOT, contract.ROOT))
    file = root / Path(contract.GATE_FILE).relative_to(contract.ROOT)
    try:
        read = _digest(root)
        gate = gate_json.parse(file.read_text("utf-8"))
        name, pod, uid = (environment[key] for key in (words.ENV_NAME, words.ENV_POD_NAME, words.ENV_POD_UID))
        api = Api.in_cluster()
    except (OSError, KeyError, ApiError, gate_json.ContractError) as error:
        print(f"the controller cannot start: {error}", file=sys.stderr, flush=True)
        return 1
    owner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "uid": uid}}
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
    metrics = Metrics(gate.group, time.time, STALE_SECONDS)
    serve(words.METRICS_PORT, metrics.text, metrics.problem)
    priority_class = environment.get(words.ENV_PRIORITY_CLASS, "")
    controller = Controller(api, gate, name, owner, pace=Pace(), metrics=metrics, priority_class=priority_class)
    lease = Lease(api, gate.namespace, name, holder=pod, owner=reference, clock=time.monotonic)
    api.before_write = lease.check_write

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Stopped

    signal.signal(signal.SIGTERM, stop)
    print(f"keeping group {gate.group}: {gate.nodes} nodes of stack {gate.stack}", flush=True)
    try:
        keep(controller, lease, metrics, poll_s=POLL_SECONDS, changed=lambda: _digest(root) != read)
    except Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _leave(lease, controller)
        return 0
    except StartAnewError as why:
        print(f"starting anew: {why}", flush=True)  # a new leader's Jobs may have the same names: none is deleted
        _leave(lease)
    except Exception:  # noqa: BLE001  # the kubelet starts it again, and the log says why
        traceback.print_exc()
    return 1


def _leave(lease: Lease, controller: Controller | None = None) -> None:
    try:
        if controller is not None:
            controller.stop()
        lease.release()
    except ApiError as error:
        print(f"at the end: {error}", flush=True)
    print("stopped", flush=True)


if __name__ == "__main__":
    sys.exit(main(os.environ))
