"""One measurement of the whole group: its rank Job and, where that does not pass, the pairs that tell who it is.

For the coordinator and for the controller alike, so that neither names more nodes than the other.
"""

from collections.abc import Callable

from gpufabric.validation import contract, ending, findings, gate_json, nodes
from gpufabric.validation.api import Api, Json
from gpufabric.validation.ending import Ending, Undecided
from gpufabric.validation.nodes import Group
from gpufabric.validation.pairs import Pairs
from gpufabric.validation.ranks import Pace, Ranks, check_placement


class GroupRun:
    """The nodes are closed, idle, and free of earlier ranks. `owner`: all Jobs go with it."""

    def __init__(
        self, api: Api, gate: gate_json.Gate, group: Group, owner: Json, *, say: Callable[[str], None], pace: Pace
    ) -> None:
        self.api, self.gate, self.group, self.owner, self.say, self.pace = api, gate, group, owner, say, pace
        self.ranks = Ranks(api, gate, group, say, pace)
        self.kept: str | None = None

    def measure(self) -> Ending:
        """Raises ApiError, and Undecided where the rank Job is refused."""
        self.ranks.create(self.owner)
        self.say(f"rank Job {self.gate.names.rank_job} created")
        found = self._followed()
        if unfit := self.ranks.unfit():
            return ending.with_findings(found, unfit)
        if found.by_a_node and len(self.group.names) >= contract.LEAST_NODES_FOR_PAIRS:
            return self._who(found)
        if found.measurement is not None:
            return ending.with_findings(found, findings.of_small_group(self.group.names, found.measurement))
        return found

    def output(self) -> str:
        """The end of the group's output, whatever was measured afterwards."""
        return self.kept if self.kept is not None else self.ranks.output()

    def _followed(self) -> Ending:
        try:
            followed = self.ranks.follow()
            check_placement(followed, self.group)
            nodes.check_unchanged(self.group, nodes.find(self.api, self.gate.node_selector))
        except Undecided as undecided:
            return ending.of_undecided(undecided, self.group.names)
        return ending.of_measurement(followed.measurement, self.group.names, explained=followed.explained)

    def _who(self, found: Ending) -> Ending:
        """Pairs of nodes, until one can say who it is; the group's outcome stays."""
        self.say(f"{self.gate.group} did not pass: {found.reason}")
        self.kept = self.ranks.output()  # its pods are about to go
        pairs = Pairs(self.api, self.gate, self.group, self.owner, say=self.say, pace=self.pace)
        named = pairs.search()
        return ending.with_findings(found, named, tuple(pairs.results))
