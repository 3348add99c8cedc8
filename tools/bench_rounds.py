"""How many rounds of pairs it takes to name the bad nodes of simulated groups, and how many pairs that are."""

from dataclasses import dataclass
from random import Random

from gpufabric.validation import findings, localise
from gpufabric.validation.localise import PairResult

GROUPS = ((256, 0.01), (256, 0.03), (1024, 0.01), (1024, 0.03), (1024, 0.10), (1024, 0.25))
SEEDS = 20
_GOOD, _SLOW = 0.06, 0.006  # GB/s; any two figures of which one passes


@dataclass(frozen=True)
class Rounds:
    """One kind of group. ``most_rounds`` of any seed, ``pairs`` on average, ``exact``: seeds that named just the bad nodes."""

    nodes: int
    bad: int
    most_rounds: int
    pairs: float
    exact: int

    def __str__(self) -> str:
        share = f"{100 * self.bad / self.nodes:.1f} %"
        said = f"{self.most_rounds} rounds at most, {self.pairs:.0f} pairs on average"
        return f"{self.nodes:>5} nodes, {self.bad:>3} bad ({share:>6}): {said}, exact in {self.exact} of {SEEDS}"


def simulate(nodes: int, share: float) -> Rounds:
    """Slow nodes at random places; a pair is as slow as the slower of its two."""
    names = [f"n{at}" for at in range(nodes)]
    bad = max(1, round(nodes * share))
    rounds, pairs, exact = 0, 0, 0
    for seed in range(SEEDS):
        slow = set(Random(seed).sample(names, bad))  # noqa: S311 - a seed, not a secret
        results: list[PairResult] = []
        number = 0
        while chosen := localise.next_round(names, results):
            number += 1
            for pair in chosen:
                verdict = ("fail", "slow", _SLOW) if slow & set(pair) else ("pass", "", _GOOD)
                results.append(PairResult(number, pair, *verdict))
        rounds, pairs = max(rounds, number), pairs + len(results)
        exact += set(findings.convicted(findings.of_pairs(names, results))) == slow
    return Rounds(nodes, bad, rounds, pairs / SEEDS, exact)
