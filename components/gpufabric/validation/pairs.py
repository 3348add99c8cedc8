"""Who is it: the search on real nodes. Rounds of pairs in parallel, each pair a rank Job of its own, until `localise` is done.

A pair's Job is the group's Job with two ranks, bound to its two nodes: same image, resources, environment, Service and sweep,
so that it measures what the group measured. Its floor is the group's floor: over the same fabric a ring of two nodes is never
slower than a bigger one (it has fewer steps, and fewer links that could be the slow one), so what a group must reach a pair
must reach too. The judge is told by GATE_RANKS that it sees two nodes.

Everything is read with one listing for all pairs, since a group of a thousand nodes has five hundred of them.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gpufabric.validation import contract, findings, gate_json, leftovers, localise, nodes
from gpufabric.validation.api import Api, ApiError, Json
from gpufabric.validation.ending import Undecided
from gpufabric.validation.findings import Finding
from gpufabric.validation.localise import GOOD, Pair, PairResult
from gpufabric.validation.nodes import Group
from gpufabric.validation.ranks import Followed, Pace, Ranks, check_placement
from gpufabric.validation.words import figure

_MOST_TOLD: Final = 12
_NODE_NAME: Final = "metadata.name"
_OF_STAGES: Final = (contract.ENV_INSIDE, contract.ENV_DCGM_LEVEL, contract.ENV_DCGM_SECONDS)


class Pairs:
    """The search in one group after its run did not pass. `owner`: the coordinator's Job; the pairs' Jobs go when it goes."""

    def __init__(
        self, api: Api, gate: gate_json.Gate, group: Group, owner: Json, *, say: Callable[[str], None], pace: Pace
    ) -> None:
        self.api, self.gate, self.group, self.owner, self.say, self.pace = api, gate, group, owner, say, pace
        self.results: list[PairResult] = []

    def search(self) -> tuple[Finding, ...]:
        """All rounds; the findings. Raises nothing but Stopped: the group's own outcome must not be lost."""
        names, said = self.group.names, ""
        try:
            while pairs := localise.next_round(names, self.results):
                leftovers.remove(
                    self.api, self.gate, what="what was measured before", poll_s=self.pace.poll, patience_s=self.pace.removal
                )
                self.measure(max((result.round for result in self.results), default=0) + 1, pairs)
        except Undecided as undecided:
            said = undecided.reason
        except ApiError as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001  # a mistake here must not cost the verdict
            said = f"internal error, please report it: {error!r}"
        if said:
            self.say(f"looking for the node stopped: {said}")
            return (*(findings.of_pairs(names, self.results) if self.results else ()), findings.stopped(said))
        return findings.of_pairs(names, self.results)

    def measure(self, number: int, pairs: Sequence[Pair]) -> None:
        """One round: all its pairs at once. A pair that gives no result is a result too, with its reason."""
        self.say(f"looking for the node, round {number}: {told([' with '.join(pair) for pair in pairs])}")
        gates = [pair_gate(self.gate, pair, number, at) for at, pair in enumerate(pairs)]
        members = {node.name: node for node in self.group.members}
        running: dict[str, Ranks] = {}
        for pair, gate in zip(pairs, gates, strict=True):
            ranks = Ranks(self.api, gate, Group(tuple(members[name] for name in pair)), self.say, self.pace)
            try:
                ranks.create(self.owner)
                running[ranks.name] = ranks
            except Undecided as undecided:
                self.results.append(PairResult(number, pair, "unknown", reason=undecided.reason))
        while running:
            time.sleep(self.pace.poll)
            self._look(number, running)
        here = [result for result in self.results if result.round == number]
        good = sum(result.state == GOOD for result in here)
        bad = told([_brief(result) for result in here if result.state != GOOD])
        self.say(f"round {number}: {good} of {len(here)} pairs are good{f'; {bad}' if bad else ''}")

    def _look(self, number: int, running: dict[str, Ranks]) -> None:
        """One look at all pairs; those that have ended leave `running`."""
        by_job: dict[str, list[Any]] = {name: [] for name in running}
        for pod in leftovers.rank_pods(self.api, self.gate):
            if pod.job in by_job:
                by_job[pod.job].append(pod)
        jobs = leftovers.jobs(self.api, self.gate)
        known = _Once(lambda: nodes.find(self.api, self.gate.node_selector))
        for name, ranks in list(running.items()):
            current = sorted(by_job[name], key=lambda pod: (pod.index, pod.name))
            try:
                followed = ranks.look(current, _of(jobs, name), known)
                if followed is None:
                    continue
                check_placement(followed, ranks.group)
                result = _result(number, ranks, followed)
            except Undecided as undecided:
                result = PairResult(number, _pair(ranks), "unknown", reason=undecided.reason)
            self.results.append(result)
            del running[name]


def pair_gate(
    gate: gate_json.Gate, pair: Pair, number: int, at: int, *, timeouts: gate_json.Timeouts | None = None
) -> gate_json.Gate:
    """The gate as a pair's rank Job sees it: `<ranks>-<round>-<at>`, two nodes.

    Without `timeouts` the clocks are shorter, and stage 1 and a long stage 0 are left out: the pair's nodes have been through
    them a moment ago.
    """
    anew, ranks = timeouts is not None, 2 * gate.expectation.ranks_per_node
    timeouts = timeouts or gate.timeouts.of_pair(gate.stages_s)
    shorter_s = gate.timeouts.rank_job_s - timeouts.rank_job_s - (gate.timeouts.ranks_start_s - timeouts.ranks_start_s)
    changed = {contract.ENV_RANKS: str(ranks), contract.ENV_START_SECONDS: str(timeouts.ranks_start_s)}
    found = gate_on(gate, pair, f"{gate.names.rank_job}-{number}-{at}", timeouts=timeouts, environment=changed)
    for container in ranks_and_judges(found.rank_job):
        env = {each["name"]: each for each in container["env"]}
        if deadline := env.get(contract.ENV_DEADLINE_SECONDS):
            deadline["value"] = str(int(deadline["value"]) - shorter_s)
        if not anew:
            container["env"] = [each for each in container["env"] if not each["name"].startswith(_OF_STAGES)]
    return replace(found, expectation=replace(gate.expectation, ranks=ranks), inside=gate.inside if anew else None)


def gate_on(
    gate: gate_json.Gate, names: Sequence[str], job: str, *, timeouts: gate_json.Timeouts, environment: Mapping[str, str]
) -> gate_json.Gate:
    """The gate on some nodes of its group, with a rank Job of its own name and more in its ranks' and judges' environment."""
    body = copy.deepcopy(dict(gate.rank_job))
    labels = contract.labels(gate.group, leftovers.RANKS)
    body["metadata"] = {**body["metadata"], "name": job, "labels": {**body["metadata"].get("labels", {}), **labels}}
    spec = body["spec"]
    spec |= {"completions": len(names), "parallelism": len(names), "activeDeadlineSeconds": timeouts.rank_job_s}
    changed = {contract.ENV_NODES: str(len(names)), contract.ENV_HOST_PREFIX: job, **environment}
    for container in ranks_and_judges(body):
        kept = [each for each in container.get("env", []) if each["name"] not in changed]
        container["env"] = [*kept, *({"name": key, "value": value} for key, value in changed.items())]
    affinity = spec["template"]["spec"].setdefault("affinity", {})
    affinity["nodeAffinity"] = on_nodes(affinity.get("nodeAffinity") or {}, names)
    return replace(gate, nodes=len(names), names=replace(gate.names, rank_job=job), timeouts=timeouts, rank_job=body)


def ranks_and_judges(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a rank Job that read the gate's environment."""
    names = (contract.CONTAINER_RANK, contract.CONTAINER_JUDGE)
    return [each for each in job["spec"]["template"]["spec"]["containers"] if each["name"] in names]


def on_nodes(affinity: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The node affinity, and on these nodes only.

    By the nodes' names: the label kubernetes.io/hostname need not be the name. A field takes one value, so there is a term
    for each node; terms are alternatives, so each of the given terms comes once for each node.
    """
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = (affinity.get(key) or {}).get("nodeSelectorTerms") or [{}]
    bound = [
        {**term, "matchFields": [*term.get("matchFields", []), {"key": _NODE_NAME, "operator": "In", "values": [name]}]}
        for term in terms
        for name in names
    ]
    return {**affinity, key: {"nodeSelectorTerms": bound}}


def told(texts: Sequence[str]) -> str:
    """Texts in a line; of many the first ones and how many there are."""
    more = f"; … ({len(texts)} pairs)" if len(texts) > _MOST_TOLD else ""
    return "; ".join(texts[:_MOST_TOLD]) + more


def _brief(result: PairResult) -> str:
    words = {"slow": f"{figure(result.busbw_gbytes_per_s)} GB/s", "wrong": "wrong sums", "lost": f"no result: {result.reason}"}
    return f"{' with '.join(result.nodes)}: {words[result.state][:200]}"


def _result(number: int, ranks: Ranks, followed: Followed) -> PairResult:
    found = followed.measurement
    reason = "" if found.outcome == "pass" or found.cause == "slow" else found.reason
    return PairResult(number, _pair(ranks), found.outcome, found.cause, found.busbw_gbytes_per_s, reason)


def _pair(ranks: Ranks) -> Pair:
    one, other = ranks.group.names
    return one, other


def _of(jobs: Mapping[str, Json], name: str) -> Callable[[], Json | None]:
    return lambda: jobs.get(name)


class _Once:
    """A reading that is made when it is first asked for, and then kept."""

    def __init__(self, read: Callable[[], list[nodes.Node]]) -> None:
        self.read = read
        self.known: list[nodes.Node] | None = None

    def __call__(self) -> list[nodes.Node]:
        if self.known is None:
            self.known = self.read()
        return self.known
