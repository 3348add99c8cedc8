"""Who is it: from the results of pairs of nodes to the next round of pairs, and in the end to findings that name nodes. Pure.

Round 1 pairs everybody. A pair that passes proves both of its nodes; every node without such a proof is a suspect, and from
round 2 on each suspect runs with a partner of proven goodness. Two bad results with two good partners convict a node (each
partner's goodness, and that two links are bad by chance, would have to be doubted otherwise); one good result acquits it, and
then its bad pair is tested again. While everything is good, or everything is bad, the rounds pair everybody anew.

With f bad nodes round 1 leaves at most 2 f + 1 suspects, so up to a quarter of bad nodes all suspects find good partners, and
two rounds more convict or acquit each. It gives up, and says so (`undecided`), when

- a node has no good result and fewer than two bad ones with good partners after the last round (too few good partners);
- a node, or a pair, is bad in one round and good in another;
- a node's pairs give no result at all, rather than a slow one;
- every pair is good, although the group together is not, or no pair gives a result.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gpufabric.validation import contract

Pair = tuple[str, str]

GOOD, SLOW, WRONG, LOST = "good", "slow", "wrong", "lost"
_CONVICTING: Final = 2


@dataclass(frozen=True)
class PairResult:
    """One measured pair. `outcome` pass | fail | unknown and `cause` are the judge's; `reason` where there is no figure."""

    round: int
    nodes: Pair
    outcome: str
    cause: str = ""
    busbw_gbytes_per_s: float | None = None
    reason: str = ""

    @property
    def state(self) -> str:
        """good | slow | wrong | lost: what it says of the two nodes. Lost: it ended without a figure that counts."""
        if self.outcome == "pass":
            return GOOD
        return {"slow": SLOW, "wrong_sums": WRONG}.get(self.cause, LOST) if self.outcome == "fail" else LOST

    def other(self, node: str) -> str:
        return self.nodes[1] if self.nodes[0] == node else self.nodes[0]


class Evidence:
    """What all results so far say of each node and each pair."""

    def __init__(self, nodes: Sequence[str], results: Sequence[PairResult]) -> None:
        self.nodes, self.results = tuple(nodes), tuple(results)
        self.of_node: dict[str, list[PairResult]] = defaultdict(list)
        self.of_pair: dict[frozenset[str], list[PairResult]] = defaultdict(list)
        for result in results:
            self.of_pair[frozenset(result.nodes)].append(result)
            for node in result.nodes:
                self.of_node[node].append(result)

    @property
    def rounds(self) -> int:
        return max((result.round for result in self.results), default=0)

    @cached_property
    def good(self) -> frozenset[str]:
        """Nodes with at least one good result."""
        return frozenset(node for result in self.results if result.state == GOOD for node in result.nodes)

    def against(self, node: str) -> list[PairResult]:
        """Bad results of a node without any good one, with partners that are good; one for each partner."""
        if node in self.good:
            return []
        bad = {result.other(node): result for result in self.of_node[node] if result.other(node) in self.good}
        return list(bad.values())

    @cached_property
    def convicted(self) -> tuple[str, ...]:
        return tuple(node for node in self.nodes if len(self.against(node)) >= _CONVICTING)

    @cached_property
    def open(self) -> tuple[str, ...]:
        """Neither proven good nor convicted."""
        known = self.good | set(self.convicted)
        return tuple(node for node in self.nodes if node not in known)

    @cached_property
    def doubtful(self) -> tuple[Pair, ...]:
        """Pairs that were bad although both nodes are good: the link between them, or a moment's disturbance."""
        return tuple(
            results[0].nodes
            for pair, results in self.of_pair.items()
            if pair <= self.good and any(result.state != GOOD for result in results)
        )


def next_round(nodes: Sequence[str], results: Sequence[PairResult]) -> list[Pair]:
    """The next round's disjoint pairs; none when all is decided, or when another round would not help."""
    seen = Evidence(nodes, results)
    bad = [result for result in results if result.state != GOOD]
    if len(nodes) < contract.LEAST_NODES_FOR_PAIRS or seen.rounds >= contract.PAIR_ROUNDS:
        return []
    if len(bad) > 1 and all(result.state == LOST for result in results):
        return []  # whatever it is, it is not one node's
    if not bad or not seen.good:
        return everybody(nodes, seen.rounds + 1)
    pairs = _with_good_partners(seen)
    busy = {node for pair in pairs for node in pair}
    for one in seen.open:  # no good partner is left: a pass among suspects would still acquit both
        mate = next((n for n in seen.open if n not in busy and n != one and frozenset((one, n)) not in seen.of_pair), None)
        if one not in busy and mate is not None:
            pairs.append((one, mate))
            busy |= {one, mate}
    for pair in seen.doubtful:
        if not busy & set(pair) and len(seen.of_pair[frozenset(pair)]) == 1:
            pairs.append(pair)
            busy |= set(pair)
    return pairs


def everybody(nodes: Sequence[str], number: int) -> list[Pair]:
    """Round `number` (from 1) of a round robin: no pair comes twice; of an odd number one node rests, another one each time."""
    ring: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    turn = (number - 1) % (len(ring) - 1)
    ring = [ring[0], *ring[1 + turn :], *ring[1 : 1 + turn]]
    paired = [(ring[at], ring[-1 - at]) for at in range(len(ring) // 2)]
    return [(one, other) for one, other in paired if one is not None and other is not None]


def _with_good_partners(seen: Evidence) -> list[Pair]:
    """As many suspects as possible, each with a good node it has not met (augmenting paths); doubtful pairs are kept free."""
    doubtful = {node for pair in seen.doubtful for node in pair}
    partners = sorted(seen.good, key=lambda node: (node in doubtful, seen.nodes.index(node)))
    taken: dict[str, str] = {}

    def place(suspect: str, tried: set[str]) -> bool:
        new = [partner for partner in partners if frozenset((suspect, partner)) not in seen.of_pair]
        free = next((partner for partner in new if partner not in taken), None)
        if free is not None:
            taken[free] = suspect
            return True
        for partner in new if len(taken) < len(partners) else ():
            if partner not in tried:
                tried.add(partner)
                if place(taken[partner], tried):
                    taken[partner] = suspect
                    return True
        return False

    # Those that have been measured first: a node that only rested is less likely to be the one.
    for suspect in sorted(seen.open, key=lambda node: not seen.of_node[node]):
        place(suspect, set())
    return [(suspect, partner) for partner, suspect in taken.items()]
