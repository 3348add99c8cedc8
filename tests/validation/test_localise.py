"""Who is it, on simulated measurements: exact for few bad nodes among many, and honest where three rounds cannot tell."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpufabric.validation import contract, findings, localise
from gpufabric.validation.findings import CONVICTING_KINDS, Finding
from gpufabric.validation.localise import Pair, PairResult
from gpufabric.validation.measurement import Measurement

FLOOR = 100.0
HEALTHY = FLOOR / 0.85  # the slowest healthy pair is just at the floor
SLOW = 0.5 * FLOOR


@dataclass
class Fabric:
    """Nodes whose pairs are as slow as the slowest part of them; `noise` seeds +-15 %."""

    count: int
    slow: Collection[str] = ()
    slow_pairs: Collection[frozenset[str]] = ()
    wrong: Collection[str] = ()
    dead: Collection[str] = ()
    noise: int = 0
    rounds: list[list[Pair]] = field(default_factory=list)

    @property
    def nodes(self) -> list[str]:
        return [f"n{at}" for at in range(self.count)]

    def measure(self, number: int, pair: Pair) -> PairResult:
        if set(pair) & set(self.dead):
            return PairResult(number, pair, "unknown", "incomplete", reason="the benchmark did not end in time")
        noise = Random(f"{self.noise} {number} {pair}").uniform(0.85, 1.15)  # noqa: S311 - a seed, not a secret
        bad = set(pair) & set(self.slow) or frozenset(pair) in self.slow_pairs
        busbw = (SLOW if bad else HEALTHY) * noise
        if set(pair) & set(self.wrong):
            return PairResult(number, pair, "fail", "wrong_sums", busbw)
        return PairResult(number, pair, *(("pass", "") if busbw >= FLOOR else ("fail", "slow")), busbw)

    def search(self, measure: Callable[[int, Pair], PairResult] | None = None) -> tuple[list[PairResult], tuple[Finding, ...]]:
        results: list[PairResult] = []
        while pairs := localise.next_round(self.nodes, results):
            self.rounds.append(pairs)
            met = [node for pair in pairs for node in pair]
            assert len(met) == len(set(met)), "a node is in two pairs at once"
            results += [(measure or self.measure)(len(self.rounds), pair) for pair in pairs]
        assert len(self.rounds) <= contract.PAIR_ROUNDS
        return results, findings.of_pairs(self.nodes, results)


def told(found: Collection[Finding]) -> dict[str, set[frozenset[str]]]:
    out: dict[str, set[frozenset[str]]] = {}
    for each in found:
        out.setdefault(each.kind, set()).add(frozenset(each.nodes))
    return out


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([255, 256, 1023, 1024]), st.floats(0.0, 0.03), st.integers(0, 6), st.integers(0, 2**32))
@example(1023, 1 / 64, 0, 1893)  # a slow node that met one with wrong sums first
def test_few_bad_among_many_are_found_exactly(count: int, share: float, links: int, seed: int) -> None:
    """Slow nodes, nodes with wrong sums, nodes that give no result and slow links, together up to 3 % of the nodes."""
    dice = Random(seed)  # noqa: S311
    fabric = Fabric(count, noise=seed)
    bad = dice.sample(fabric.nodes, max(1, int(share * count)))
    fabric.wrong, fabric.dead, fabric.slow = bad[: len(bad) // 4], bad[len(bad) // 4 : len(bad) // 3], bad[len(bad) // 3 :]
    rest = [node for node in fabric.nodes if node not in bad]
    met = [pair for pair in localise.everybody(fabric.nodes, 1) if not set(pair) & set(bad)]
    fabric.slow_pairs = {frozenset(pair) for pair in dice.sample(met, links)}
    _, found = fabric.search()
    kinds = told(found)
    assert kinds.pop("slow_node", set()) == {frozenset((node,)) for node in fabric.slow}
    assert kinds.pop("wrong_sums", set()) == {frozenset((node,)) for node in fabric.wrong}
    assert kinds.pop("undecided", set()) == {frozenset((node,)) for node in fabric.dead}
    assert kinds.pop("slow_pair", set()) == set(fabric.slow_pairs)
    assert not kinds
    assert not set(findings.convicted(found)) & (set(rest) - {node for pair in fabric.slow_pairs for node in pair})
    assert sum(len(pairs) for pairs in fabric.rounds[1:]) <= 2 * (2 * len(bad) + 2 * links + 1), "only suspects run again"


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 40), st.data(), st.integers(0, 2**32))
def test_nobody_is_named_who_is_not_slow(count: int, data: st.DataObject, seed: int) -> None:
    """Any number of slow nodes: as long as somebody is good, only slow nodes are convicted; all others are said to be open."""
    fabric = Fabric(count, noise=seed)
    fabric.slow = data.draw(st.sets(st.sampled_from(fabric.nodes), min_size=1, max_size=count - 1))
    results, found = fabric.search()
    kinds = told(found)
    named = {node for names in kinds.get("slow_node", set()) for node in names}
    open_ = {node for names in kinds.get("undecided", set()) for node in names}
    assert named <= set(fabric.slow)
    assert "slow_pair" not in kinds
    if any(result.outcome == "pass" for result in results):
        assert set(fabric.slow) <= named | open_
    else:
        assert kinds.keys() == {"slow_fabric"}
    if len(fabric.slow) * 4 <= count - 2:
        assert named == set(fabric.slow)


@pytest.mark.parametrize("count", range(3, 9))
@pytest.mark.parametrize("seed", [1, 2])
def test_one_slow_node_of_few(count: int, seed: int) -> None:
    for name in Fabric(count).nodes:
        fabric = Fabric(count, slow=[name], noise=seed)
        _, found = fabric.search()
        assert told(found) == {"slow_node": {frozenset((name,))}}


def test_the_words_for_a_slow_node() -> None:
    def measure(number: int, pair: Pair) -> PairResult:
        busbw = 0.007 + 0.001 * (number - 1) if "n3" in pair else 0.07
        return PairResult(number, pair, *(("fail", "slow") if "n3" in pair else ("pass", "")), busbw)

    _, (found,) = Fabric(4).search(measure)
    assert found.text == "Slow node: n3 (0.007 GB/s with n0, 0.008 with n2; the others 0.07)"
    assert (found.nodes, found.busbw_gbytes_per_s) == (("n3",), 0.008)


@pytest.mark.parametrize("slow", [("n0", "n1"), ("n0", "n3"), ("n2", "n3"), ("n1", "n3")])
def test_two_slow_of_four(slow: tuple[str, str]) -> None:
    _, found = Fabric(4, slow=slow).search()
    assert told(found) == {"slow_node": {frozenset((node,)) for node in slow}}


@pytest.mark.parametrize("count", [3, 4, 5, 8, 257])
def test_a_uniformly_slow_fabric_singles_nobody_out(count: int) -> None:
    fabric = Fabric(count)
    fabric.slow = fabric.nodes
    results, (found,) = fabric.search()
    assert (found.kind, found.nodes) == ("slow_fabric", ())
    assert found.text.startswith(f"Slow fabric: all {len(results)} pairs are slow (")
    assert found.text.endswith("two of the three nodes" if count == 3 else "nobody is singled out")
    assert {node for result in results for node in result.nodes} == set(fabric.nodes)


@pytest.mark.parametrize("count", [3, 4, 7])
def test_a_slow_pair_is_no_slow_node(count: int) -> None:
    for pair in localise.everybody(Fabric(count).nodes, 1):
        _, (found,) = Fabric(count, slow_pairs=[frozenset(pair)]).search()
        assert (found.kind, set(found.nodes)) == ("slow_pair", set(pair))
        assert found.text.startswith(f"Slow pair: {found.nodes[0]} with {found.nodes[1]} (")
        assert "each is good with others; the others" in found.text


def test_four_nodes_are_measured_in_all_their_pairs() -> None:
    results, (found,) = Fabric(4).search()
    assert len({frozenset(result.nodes) for result in results}) == 6
    assert found.kind == "undecided"
    assert found.text.startswith("Not decided: all 6 pairs are good, only the nodes together are not")


@pytest.mark.parametrize("count", range(3, 12))
def test_a_round_robin_repeats_no_pair(count: int) -> None:
    nodes = Fabric(count).nodes
    pairs = [frozenset(pair) for number in (1, 2, 3) for pair in localise.everybody(nodes, number)]
    assert len(pairs) == len(set(pairs)) == 3 * (count // 2)


def test_wrong_sums_that_show_once_name_both_nodes() -> None:
    """Corruption comes and goes: a good result later acquits nobody."""

    def measure(number: int, pair: Pair) -> PairResult:
        bad = number == 1 and "n3" in pair
        return PairResult(number, pair, *(("fail", "wrong_sums") if bad else ("pass", "")), 1.0)

    _, (found,) = Fabric(4).search(measure)
    assert (found.kind, set(found.nodes)) == ("wrong_sums", {"n0", "n3"})
    assert "one of n0, n3" in found.text


def test_wrong_sums_in_two_pairs_name_the_node_they_share_although_it_was_good_once() -> None:
    def measure(number: int, pair: Pair) -> PairResult:
        bad = "n3" in pair and number != 2
        return PairResult(number, pair, *(("fail", "wrong_sums") if bad else ("pass", "")), 1.0)

    met = [(1, ("n0", "n3")), (1, ("n1", "n2")), (2, ("n1", "n3")), (2, ("n0", "n2")), (3, ("n2", "n3"))]
    (found,) = findings.of_pairs(Fabric(4).nodes, [measure(number, pair) for number, pair in met])
    assert (found.kind, found.nodes, found.text) == ("wrong_sums", ("n3",), "Wrong sums: n3 (with n0, n2)")


def test_what_is_slow_and_then_good_is_not_decided() -> None:
    def measure(number: int, pair: Pair) -> PairResult:
        bad = number == 1 and "n3" in pair
        return PairResult(number, pair, *(("fail", "slow", 0.1) if bad else ("pass", "", 1.0)))

    _, (found,) = Fabric(4).search(measure)
    assert (found.kind, set(found.nodes)) == ("undecided", {"n0", "n3"})
    assert found.text == "Not decided: n0 with n3 is slow in one round and good in another (0.1 and 1 GB/s)"


def test_a_node_that_is_slow_with_some_and_good_with_others_is_not_decided() -> None:
    def result(number: int, one: str, other: str, busbw: float) -> PairResult:
        return PairResult(number, (one, other), *(("fail", "slow") if busbw < 1 else ("pass", "")), busbw)

    results = [result(1, "n0", "n3", 0.1), result(1, "n1", "n2", 1), result(2, "n3", "n1", 0.2), result(2, "n0", "n2", 1)]
    (found,) = findings.of_pairs(Fabric(4).nodes, [*results, result(3, "n3", "n2", 1)])
    assert (found.kind, found.nodes) == ("undecided", ("n3",))
    assert found.text == "Not decided: n3 is slow with some (0.1 GB/s with n0, 0.2 with n1) and good with n2"


def test_too_few_good_partners() -> None:
    fabric = Fabric(10, slow=[f"n{at}" for at in range(1, 9)])  # n0 and n9 meet in round 1
    _, found = fabric.search()
    assert found[-1].kind == "undecided"
    assert found[-1].text.endswith("too few good partners in 3 rounds")
    assert {node for each in found for node in each.nodes} == set(fabric.slow)


def test_the_docs_tell_every_kind_that_convicts_in_the_table_and_with_the_labels() -> None:
    page = (Path(__file__).parents[2] / "docs/gate.md").read_text("utf-8")
    (sentence,) = re.findall(r"When the findings convict somebody \(([^)]*)\)", page)
    assert re.findall(r"`(\w+)`", sentence) == list(CONVICTING_KINDS)
    for kind in CONVICTING_KINDS:
        assert f"| `{kind}` | " in page


def test_pairs_without_any_result_end_the_search() -> None:
    fabric = Fabric(6)
    fabric.dead = fabric.nodes
    results, (found,) = fabric.search()
    assert len(results) == 3
    assert found.text == "Not decided: none of 3 pairs gave a result (the benchmark did not end in time)"


def test_a_node_without_results_is_named_and_not_convicted() -> None:
    _, (found,) = Fabric(5, dead=["n2"]).search()
    assert (found.kind, found.nodes) == ("undecided", ("n2",))
    assert "n2 gives no result with" in found.text
    assert findings.convicted([found]) == ()


@pytest.mark.parametrize(
    ("nodes", "cause", "kind", "text"),
    [
        (["n0"], "slow", "slow_node", "Slow node: n0 (0.3 GB/s); it is alone, so the cause is inside it"),
        (["n0"], "wrong_sums", "wrong_sums", "Wrong sums: n0; it is alone, so the cause is inside it"),
        (
            ["a", "b"],
            "slow",
            "undecided",
            "Slow (0.3 GB/s): one of a, b, or the link between them; a pair cannot tell which",
        ),
        (["a", "b"], "wrong_sums", "wrong_sums", "Wrong sums: one of a, b; a pair cannot tell which"),
    ],
)
def test_groups_of_one_and_two(nodes: list[str], cause: str, kind: str, text: str) -> None:
    (found,) = findings.of_small_group(nodes, Measurement("fail", "", cause, busbw_gbytes_per_s=0.3))
    assert (found.kind, found.nodes, found.text) == (kind, tuple(nodes), text)
    assert localise.next_round(nodes, []) == []
    assert findings.of_small_group(nodes, Measurement("unknown", "", "incomplete")) == ()
    assert findings.of_small_group([*nodes, "c", "d"], Measurement("fail", "", cause)) == ()
