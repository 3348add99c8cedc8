"""A rank Job, the group's or a pair's: create it, follow its pods until the judge has spoken or something else has happened."""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from gpufabric.validation import contract, gate_json, health_group, health_report, inside_group, measurement, nodes, pods, table
from gpufabric.validation.api import Api, ApiError, Json, path
from gpufabric.validation.ending import AGAIN, Ending, Undecided
from gpufabric.validation.findings import Finding
from gpufabric.validation.health_report import Report
from gpufabric.validation.judge import size_text
from gpufabric.validation.measurement import InsideResult, Measurement
from gpufabric.validation.nodes import Group
from gpufabric.validation.pods import Pod
from gpufabric.validation.words import listed


@dataclass(frozen=True)
class Pace:
    """Seconds. `poll`: between looks at the pods; `nodes`, `log`, `drain`: between looks at those.
    `evict`: between tries to evict a pod. Graces: how long a state may last."""

    poll: float = 0.7
    nodes: float = 2.0
    log: float = 1.0
    image_grace: float = 20.0
    create_grace: float = 15.0
    judge_grace: float = 15.0
    removal: float = 45.0
    overtime: float = 10.0
    drain: float = 2.0
    evict: float = 5.0
    health_grace: float = 5.0


@dataclass
class Seen:
    """What the follower remembers between looks: since when something lasts, pods seen, rows told, the best message."""

    since: dict[str, float] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)
    image_messages: dict[str, str] = field(default_factory=dict)
    health: dict[str, Report] = field(default_factory=dict)
    inside: dict[str, InsideResult] = field(default_factory=dict)
    told: str = ""
    next_nodes: float = 0.0
    next_log: float = 0.0


@dataclass(frozen=True)
class Followed:
    """The judge's measurement and the node of every rank pod, by index. `explained`: a pod's end is given as the reason."""

    measurement: Measurement
    placed: Mapping[int, str]
    explained: bool = False


class Ranks:
    """One rank Job: that of the gate it is given (a pair has a gate of its own, see `pairs`)."""

    def __init__(self, api: Api, gate: gate_json.Gate, group: Group, say: Callable[[str], None], pace: Pace) -> None:
        self.api, self.gate, self.group, self.say, self.pace = api, gate, group, say, pace
        self.name = gate.names.rank_job
        self.job_path = path("jobs", self.name, namespace=gate.namespace, group="batch")
        self.seen = Seen()
        self.created_at = 0.0

    def pods(self) -> list[Pod]:
        """The Job's pods by index."""
        found = self.api.list(path("pods", namespace=self.gate.namespace), labels=f"{pods.JOB_KEY}={self.name}")
        return sorted((pods.of(raw) for raw in found), key=lambda pod: (pod.index, pod.name))

    def create(self, owner: Json) -> None:
        """Create the rank Job as planned; it goes with its owner, the coordinator's Job or the controller's pod."""
        body: dict[str, Any] = copy.deepcopy(dict(self.gate.rank_job))
        meta = owner["metadata"]
        kind = {"apiVersion": owner.get("apiVersion", "batch/v1"), "kind": owner.get("kind", "Job")}
        reference = {**kind, "name": meta["name"], "uid": meta["uid"]}
        body["metadata"] = {**body["metadata"], "ownerReferences": [reference]}
        try:
            self.api.create(path("jobs", namespace=self.gate.namespace, group="batch"), body)
        except ApiError as error:
            if error.status in (400, 422) or (error.status == 403 and "cannot create resource" not in error.message):
                raise Undecided(
                    f"the API server refused the rank Job: {error.message}",
                    f"a quota, an admission policy or the pod profile is in the way: repair it, {AGAIN}",
                    nodes=self.group.names,
                ) from None
            raise
        self.created_at = time.monotonic()

    def delete(self) -> None:
        """Free the nodes; the pods go in the background."""
        self.api.delete(self.job_path)

    def follow(self) -> Followed:
        """Until the judge's result. Raises Undecided for everything that keeps it from coming, with the exact reason."""
        while True:
            current = self.pods()
            found = self.look(
                current, lambda: self.api.find(self.job_path), lambda: nodes.find(self.api, self.gate.node_selector)
            )
            if found is not None:
                for row in found.measurement.table:
                    self._tell_row(row[0], row[3], row[1])
                also = found.measurement.also
                if also and also.busbw_gbytes_per_s is not None:
                    self.say(f"{also.collective}: busbw {also.busbw_gbytes_per_s:g} GB/s")
                return found
            self._progress(current)
            time.sleep(self.pace.poll)

    def look(
        self, current: list[Pod], job: Callable[[], Json | None], members: Callable[[], Sequence[nodes.Node]]
    ) -> Followed | None:
        """One look at the Job's pods: the result, or None if it is still to come. Raises Undecided as `follow` does.

        `job` and `members` read the Job and the group's nodes; they are called only where the pods do not say enough.
        """
        for pod in current:
            self.seen.pods[pod.name] = pod
        if self._unfit(current):
            return None
        judge = next((pod.container(contract.CONTAINER_JUDGE) for pod in current if pod.index == 0), None)
        if judge is None or judge.kind != "terminated":
            self._look(current, job, members)
            return None
        found = measurement.parse(judge.message)
        if found is None:
            self._undecided(f"the judge {pods.ended(judge)} and left no result")
        cause = pods.taken_away(current) or pods.crashed(current) if found.outcome == "unknown" else ""
        if cause:  # an unknown of the judge often has its cause elsewhere: say that first
            found = replace(found, reason=f"{cause}; {found.reason}")
        found = replace(found, reason=pods.with_nodes(found.reason, self.name, current))
        return Followed(found, {pod.index: pod.node for pod in current}, bool(cause))

    def output(self) -> str:
        """The end of rank 0's output: the judge's log repeats it; empty if it cannot be had."""
        first = next((pod for pod in self.seen.pods.values() if pod.index == 0), None)
        if first is None:
            return ""
        for container in (contract.CONTAINER_JUDGE, contract.CONTAINER_RANK):
            try:
                text = self.api.log(self.gate.namespace, first.name, container, tail_lines=2000)
            except ApiError:
                continue
            if text.strip():
                return text.encode()[-contract.OUTPUT_TAIL_BYTES :].decode("utf-8", "ignore")
        return ""

    def _look(self, current: list[Pod], job: Callable[[], Json | None], members: Callable[[], Sequence[nodes.Node]]) -> None:
        """Raise Undecided for whatever keeps the result from coming."""
        if reason := pods.taken_away(current) or pods.crashed(current):
            self._undecided(reason)
        self._look_at_rank_0(current)
        self._look_at_job(job())
        gone = [pod for pod in self.seen.pods.values() if pod.name not in {each.name for each in current}]
        for pod in gone + [pod for pod in current if pod.deleting]:
            self._undecided(f"{pod.where} was deleted during the validation")
        self._look_at_images(current)
        now = time.monotonic()
        waiting = pods.not_started(current, self.gate.nodes)
        if waiting and now - self.created_at >= self.gate.timeouts.ranks_start_s:
            self._undecided(f"not all ranks run after {self.gate.timeouts.ranks_start_s} s: {waiting}")
        if now - self.created_at >= self.gate.timeouts.rank_job_s + self.pace.overtime:
            patience_s = self.gate.timeouts.rank_job_s + self.pace.overtime
            self._undecided(f"no result from the judge after {patience_s:g} s", by_a_node=True)
        if now >= self.seen.next_nodes:
            self.seen.next_nodes = now + self.pace.nodes
            nodes.check_unchanged(self.group, members())

    def unfit(self) -> tuple[Finding, ...]:
        """The nodes that stage 0 or 1 kept out of the network run, as findings."""
        return (*health_group.findings(self.seen.health), *inside_group.findings(self.seen.inside))

    def with_stages(self, found: Ending) -> Ending:
        """The ending with what stages 0 and 1 found, where the plan asks for them."""
        health = self.seen.health if self.gate.health else {}
        return replace(found, health=health, inside=self.seen.inside if self.gate.inside else {})

    def _unfit(self, current: list[Pod]) -> bool:
        """Stages 0 and 1: whether a node may not take part. Raises Undecided once the others have had a moment to speak too."""
        self.seen.health.update(health_group.reports(current))
        self.seen.inside.update(inside_group.results(current))
        sick, bad = health_group.sick(self.seen.health), inside_group.bad(self.seen.inside)
        spoken = len(self.seen.health.keys() | self.seen.inside.keys())
        if (sick or bad) and (spoken == self.gate.nodes or self._lasts("unfit", self.pace.health_grace)):
            outcome, reason, fix = "fail", health_report.reason(sick), health_report.fix(self.gate.health, sick)
            if not sick:
                outcome, reason, fix = inside_group.outcome(bad), inside_group.reason(bad), inside_group.fix(bad)
            raise Undecided(reason, f"{fix}; {AGAIN}", outcome=outcome, nodes=self.group.names)
        return bool(sick or bad)

    def _look_at_rank_0(self, current: list[Pod]) -> None:
        """It ended with an error: the judge beside it says why, but not for ever."""
        for pod in current:
            rank = pod.container(contract.CONTAINER_RANK)
            if pod.index == 0 and rank.failed and self._lasts("rank 0 ended", self.pace.judge_grace):
                self._undecided(f"rank 0 ({pod.where}) {pods.ended(rank)}; its judge gave no result")

    def _look_at_job(self, job: Json | None) -> None:
        if job is None:
            self._undecided(f"the rank Job {self.name} was deleted during the validation")
        for condition in (job.get("status") or {}).get("conditions") or []:
            if condition.get("type") not in ("Failed", "FailureTarget") or condition.get("status") != "True":
                continue
            reason, message = str(condition.get("reason") or ""), str(condition.get("message") or "")
            if reason == "DeadlineExceeded":
                deadline = f"its deadline of {self.gate.timeouts.rank_job_s} s"
                self._undecided(f"the rank Job ran into {deadline}: the benchmark hangs or is too slow", by_a_node=True)
            if self._lasts("job failed", self.pace.judge_grace):
                self._undecided(f"the rank Job failed: {reason}: {message}")

    def _look_at_images(self, current: list[Pod]) -> None:
        for pod in current:
            image = pods.waiting_image(pod)
            if image is not None:
                if not image.message.startswith("Back-off"):  # the back-off hides what the pull said
                    self.seen.image_messages[pod.name] = image.message
                grace = 0.0 if image.reason in pods.AT_ONCE else self.pace.image_grace
                if self._lasts(f"image {pod.name}", grace):
                    said = self.seen.image_messages.get(pod.name) or image.message
                    self._undecided(
                        f"the image {image.image} cannot be had for {pod.where}: {image.reason}: {said}",
                        f"check the image's name and the cluster's access to its registry (or load it onto the nodes), {AGAIN}",
                    )
            else:
                self.seen.since.pop(f"image {pod.name}", None)
            broken = pods.waiting_create(pod)
            if broken is None:
                self.seen.since.pop(f"create {pod.name}", None)
            elif self._lasts(f"create {pod.name}", self.pace.create_grace):
                self._undecided(f"container {broken.name} of {pod.where} cannot start: {broken.reason}: {broken.message}")

    def _lasts(self, what: str, grace: float) -> bool:
        """Whether something has been so for longer than its grace."""
        now = time.monotonic()
        return now - self.seen.since.setdefault(what, now) >= grace

    def _progress(self, current: list[Pod]) -> None:
        """Tell what is new: ranks that run, rows of the table."""
        running = sum(1 for pod in current if pod.started)
        state = f"{running} of {self.gate.nodes} ranks run" if running else ""
        if state and state != self.seen.told:
            self.say(state)
            self.seen.told = state
        now = time.monotonic()
        first = next(
            (pod for pod in current if pod.index == 0 and pod.container(contract.CONTAINER_JUDGE).kind == "running"), None
        )
        if first is None or now < self.seen.next_log:
            return
        self.seen.next_log = now + self.pace.log
        try:
            log = self.api.log(self.gate.namespace, first.name, contract.CONTAINER_JUDGE, tail_lines=200)
        except ApiError:
            return  # progress is a courtesy; the pods are what counts
        for row in table.parse(log).rows:
            self._tell_row(row.size_bytes, row.out_of_place.busbw_gbytes_per_s, row.out_of_place.time_us)

    def _tell_row(self, size_bytes: float | None, busbw: float | None, time_us: float | None) -> None:
        """Once per size; the last rows often come with the result only."""
        if not size_bytes or size_bytes in self.seen.sizes or busbw is None or time_us is None:
            return
        self.seen.sizes.add(int(size_bytes))
        self.say(f"{size_text(int(size_bytes)):>8}: busbw {busbw:g} GB/s, {time_us:g} us")

    def _undecided(self, reason: str, fix: str = "", *, by_a_node: bool = False) -> NoReturn:
        look = f"kubectl describe pods -n {self.gate.namespace} -l {pods.JOB_KEY}={self.name}"
        fix = fix or f"look at it ({look}), repair it, {AGAIN}"
        raise Undecided(reason, fix, nodes=self.group.names, by_a_node=by_a_node)


def check_placement(followed: Followed, group: Group) -> None:
    """Raises Undecided unless the ranks' pods ran on distinct nodes of the group: host names in the output are pod names."""
    where = [followed.placed[index] for index in sorted(followed.placed)]
    if len(where) != len(group.names) or set(where) != set(group.names):
        raise Undecided(
            f"the ranks ran on {', '.join(where) or 'no node'}, not on {listed(group.names)}, one on each",
            f"the rank Job lost its anti-affinity or its node selector: {AGAIN}",
            nodes=group.names,
        )
