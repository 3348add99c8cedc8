"""The gate's coordinator: the program of the Job that Pulumi follows.

Finds the group's nodes, closes them where they are idle, makes the rank Job, follows it, looks for the node where it did not
pass, labels the nodes, writes the verdict ConfigMap and leaves one message for a human as its termination message. Exit 0
pass, pending or deferred, 2 fail, 3 unknown (`contract.EXIT_CODES`).
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from gpufabric.validation import clock, contract, ending, gate_json, idle, leftovers, nodes, report, restarts
from gpufabric.validation.api import Api, ApiError, path
from gpufabric.validation.ending import Ending, Stopped, Undecided
from gpufabric.validation.group_run import GroupRun
from gpufabric.validation.nodes import Group
from gpufabric.validation.predecessors import remove_predecessors
from gpufabric.validation.ranks import Pace
from gpufabric.validation.words import listed


class Coordinator:
    """One run of one gate."""

    def __init__(self, api: Api, gate: gate_json.Gate, pace: Pace) -> None:
        self.api, self.gate, self.pace = api, gate, pace
        self.group: Group | None = None  # once its nodes are this run's: closed, and idle
        self.settled = gate.run
        self.run: GroupRun | None = None
        self.started_at = clock.now()

    def decide(self) -> Ending:
        """From the nodes to the outcome. Raises nothing but Stopped."""
        try:
            return self._measure()
        except Undecided as undecided:
            return ending.of_undecided(undecided, self._names())
        except ApiError as error:
            return ending.of_api_error(error, self._names())
        except Exception as error:  # noqa: BLE001  # whatever it is, the message must say so
            traceback.print_exc()
            return ending.of_internal_error(error, self._names())

    def _measure(self) -> Ending:
        job = self.api.get(path("jobs", self.gate.names.coordinator_job, namespace=self.gate.namespace, group="batch"))
        say = report.Events(self.api, self.gate.namespace, job).say
        restarts.check(self.api, self.gate, say)
        remove_predecessors(self.api, self.gate, say, poll_s=self.pace.poll, patience_s=self.pace.removal)
        group = self.group = self._take(say)
        say(f"validating {listed(group.names)}: closed to jobs until it passes")
        if leftovers.jobs(self.api, self.gate) or leftovers.rank_pods(self.api, self.gate):
            say("removing the rank Jobs of an earlier run")
            what = "what an earlier run left"
            leftovers.remove(self.api, self.gate, what=what, poll_s=self.pace.poll, patience_s=self.pace.removal)
        self.run = GroupRun(self.api, self.gate, group, job, say=say, pace=self.pace)
        return self.run.measure()

    def _take(self, say: Callable[[str], None]) -> Group:
        """The group's nodes, closed and idle. A raise of `run` allows to drain them, and stays one until they are taken."""
        end = time.monotonic() + self.gate.timeouts.nodes_s
        before = idle.settled_run(self.api, self.gate)
        raised = before is not None and self.gate.run > before
        self.settled = before if before is not None and raised else self.gate.run
        group = nodes.wait_for_group(self.api, self.gate, say, self.pace.poll)
        idle.take(self.api, self.gate, group, say, self.pace, raised=raised, end=end)
        self.settled = self.gate.run
        return group

    def _names(self) -> tuple[str, ...]:
        return self.group.names if self.group else ()

    def record(self, found: Ending) -> Ending:
        """Labels first, then the ConfigMap. What cannot be recorded is no pass: then the nodes are closed again."""
        output = self.run.output() if self.run else ""
        if self.run is not None:
            found = self.run.ranks.with_stages(found)
        try:
            self._write(found, output)
        except ApiError as error:
            refused = ending.of_api_error(error, found.nodes)
            reason = f"{found.reason}; the outcome ({found.outcome}) could not be recorded: {refused.reason}"
            found = replace(found, outcome="unknown", reason=reason, fix=refused.fix, findings=(), pairs=())
            for step in (self._close, lambda: self._write(found, output)):
                try:
                    step()
                except ApiError as again:
                    print(f"not recorded: {again}", flush=True)
        if self.run is not None:
            try:
                leftovers.delete(self.api, self.gate)  # the nodes' accelerators are free again
            except ApiError as error:
                print(f"the rank Jobs were not deleted: {error}", flush=True)
        return found

    def _close(self) -> None:
        if self.group is not None:
            nodes.close(self.api, self.group.members, taint=self.gate.hold == "taint")

    def _write(self, found: Ending, output: str) -> None:
        if self.group is not None:
            nodes.mark(
                self.api,
                self.group,
                lambda node: (found.label(node), report.annotation(self.gate, found, node)),
                taint=self.gate.hold == "taint",
            )
        verdict = json.dumps(
            report.verdict(self.gate, found, self.started_at) | {"run_settled": self.settled}, separators=(",", ":")
        )
        name, namespace = self.gate.names.verdict, self.gate.namespace
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/managed-by": "gpufabric"}},
            "data": {contract.VERDICT_KEY: verdict, contract.OUTPUT_KEY: output},
        }
        self.api.apply(path("configmaps", name, namespace=namespace), body, contract.FIELD_MANAGER)


def main(environment: Mapping[str, str], api: Api | None = None, pace: Pace | None = None) -> int:
    """Run the gate that `gate.json` describes; returns the exit code. `api` and `pace` are given by tests only."""
    root = Path(environment.get(contract.ENV_ROOT, contract.ROOT))
    log = Path(environment.get(contract.ENV_TERMINATION_LOG, contract.TERMINATION_LOG))
    try:
        gate = gate_json.parse((root / Path(contract.GATE_FILE).relative_to(contract.ROOT)).read_text("utf-8"))
    except (OSError, gate_json.ContractError) as error:
        problems = "; ".join(str(error).splitlines())
        return _leave(
            log, f"UNKNOWN: the gate cannot read its plan: {problems}.\nNext: please report this mistake in gpufabric.", 3
        )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Stopped

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        run = Coordinator(api or Api.in_cluster(), gate, pace or Pace())
        found = run.decide()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # half a record would contradict the message; the rest takes seconds
        found = run.record(found)
    except Stopped:
        # Nothing to clean up: the rank Job is owned by our Job, and the nodes were closed before anything was measured.
        text = (
            f"UNKNOWN {gate.group}: the coordinator was stopped (SIGTERM) before it had a verdict.\nNext: run `pulumi up` anew."
        )
        return _leave(log, text, contract.EXIT_CODES["unknown"])
    except ApiError as error:
        found = ending.of_api_error(error)
    except Exception as error:  # noqa: BLE001  # even a mistake in the recording must end in a message
        traceback.print_exc()
        found = ending.of_internal_error(error)
    finally:
        signal.signal(signal.SIGTERM, previous)
    return _leave(log, report.message(gate, found), contract.EXIT_CODES[found.outcome])


def _leave(log: Path, text: str, code: int) -> int:
    print(text, flush=True)
    try:
        log.write_text(text, "utf-8")
    except OSError as error:
        print(f"{log}: {error}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(os.environ))
