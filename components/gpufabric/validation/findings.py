"""What the pairs have shown, as findings that name nodes, in words for whoever has to act. Pure.

`nodes` of a finding are those that it names; empty where nobody is singled out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from gpufabric.validation.localise import GOOD, LOST, SLOW, WRONG, Evidence, Pair, PairResult
from gpufabric.validation.measurement import Measurement
from gpufabric.validation.words import figure

_MOST_LISTED: Final = 8
CONVICTING_KINDS: Final = ("slow_node", "slow_pair", "wrong_sums", "sick_node", "bad_inside")
"""Nodes that such a finding names get the label `fail` (docs/gate.md)."""


@dataclass(frozen=True)
class Finding:
    """`kind`: slow_node | slow_pair | slow_fabric | wrong_sums | sick_node (stage 0) | bad_inside (stage 1) | undecided.

    The bandwidth is the best one measured of it.
    """

    kind: str
    nodes: tuple[str, ...]
    busbw_gbytes_per_s: float | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "nodes": list(self.nodes)}


def convicted(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The nodes that are named for something they were measured to do."""
    return tuple(dict.fromkeys(node for each in findings if each.kind in CONVICTING_KINDS for node in each.nodes))


def of_small_group(nodes: Sequence[str], measurement: Measurement) -> tuple[Finding, ...]:
    """Groups of one and two nodes: the group's own run is all there is to know."""
    wrong, slow = measurement.cause == "wrong_sums", measurement.cause == "slow"
    if measurement.outcome != "fail" or len(nodes) not in (1, 2) or not (wrong or slow):
        return ()
    busbw, of = measurement.busbw_gbytes_per_s, ""
    if measurement.also and measurement.also.outcome == "fail":
        busbw, of = measurement.also.busbw_gbytes_per_s, f"{measurement.also.collective} "
    at = f" ({of}{_gbytes(busbw)})" if slow and busbw is not None else ""
    if len(nodes) == 1:
        says = f"{'Wrong sums' if wrong else 'Slow node'}: {nodes[0]}{at}; it is alone, so the cause is inside it"
        return (Finding("wrong_sums" if wrong else "slow_node", tuple(nodes), busbw, says),)
    if wrong:
        return (Finding("wrong_sums", tuple(nodes), busbw, f"Wrong sums: one of {', '.join(nodes)}; a pair cannot tell which"),)
    says = f"Slow{at}: one of {', '.join(nodes)}, or the link between them; a pair cannot tell which"
    return (Finding("undecided", tuple(nodes), busbw, says),)


def of_pairs(nodes: Sequence[str], results: Sequence[PairResult]) -> tuple[Finding, ...]:
    """The findings of a search that has ended, the certain ones first. Never empty: what is not known is said."""
    seen = Evidence(nodes, results)
    states = Counter(result.state for result in results)
    if not states[GOOD]:
        return (_nothing_good(seen, states),)
    if states[GOOD] == len(results):
        says = (
            f"Not decided: all {len(results)} pairs are good, only the nodes together are not: links that many nodes share, "
            "or a pair that was not tried"
        )
        return (Finding("undecided", (), _best(results), says),)
    culprits, wrong = _wrong_sums(seen)
    found = [*wrong]
    found += [_convicted(seen, node) for node in seen.convicted if node not in culprits]
    found += _pairs_of_good_nodes(seen)
    if left := [node for node in seen.open if node not in culprits]:
        found.append(_open(seen, left))
    if not found:
        lost = next(result for result in results if result.state == LOST)
        says = f"Not decided: every node is good with another; {', '.join(lost.nodes)} gave no result once ({lost.reason})"
        found.append(Finding("undecided", (), None, says))
    return tuple(sorted(found, key=lambda each: each.kind == "undecided"))


def stopped(reason: str) -> Finding:
    """The search itself came to an end before its time."""
    return Finding("undecided", (), None, f"Not decided: the search for the node stopped: {reason}")


def _nothing_good(seen: Evidence, states: Counter[str]) -> Finding:
    results, total = seen.results, len(seen.results)
    if not results:
        return Finding("undecided", (), None, "Not decided: no pair was measured")
    if states[SLOW] == total:
        lowest = min(result.busbw_gbytes_per_s or 0.0 for result in results)
        highest = _best(results)
        span = _gbytes(highest) if lowest == highest else f"{figure(lowest)} to {_gbytes(highest)}"
        who = "the fabric, or two of the three nodes" if len(seen.nodes) == 3 else "nobody is singled out"
        return Finding("slow_fabric", (), highest, f"Slow fabric: all {total} pairs are slow ({span}); {who}")
    if states[WRONG] == total:
        return Finding("wrong_sums", (), None, f"Wrong sums: in all {total} pairs; nobody is singled out")
    if states[LOST] == total:
        return Finding("undecided", (), None, f"Not decided: none of {total} pairs gave a result ({results[0].reason})")
    parts = [f"{states[state]} {word}" for state, word in _WORDS if states[state]]
    return Finding("undecided", (), _best(results), f"Not decided: of {total} pairs none is good: {', '.join(parts)}")


_WORDS: Final = ((SLOW, "slow"), (WRONG, "with wrong sums"), (LOST, "without a result"))


def _wrong_sums(seen: Evidence) -> tuple[frozenset[str], list[Finding]]:
    """Wrong sums come and go, so a good result acquits nobody of them: who is in two such pairs is the one.

    Who explains a pair is asked in turn: nodes that are good with nobody; those of them for which one wrong sum is enough,
    since all else of theirs is bad too; and last the good ones, since a good partner of two bad nodes is in two such pairs.
    """
    pairs: dict[frozenset[str], Pair] = {frozenset(r.nodes): r.nodes for r in seen.results if r.state == WRONG}
    culprits: list[str] = []
    bad = [node for node in seen.nodes if node not in seen.good]
    for group, least in ((bad, 2), (seen.convicted, 1), (sorted(seen.good), 2)):
        counts = Counter(node for pair in pairs for node in pair)
        here = [node for node in group if counts[node] >= least]
        culprits += here
        pairs = {key: pair for key, pair in pairs.items() if not key & set(here)}
    found = []
    for node in culprits:
        mates = [result.other(node) for result in seen.of_node[node] if result.state == WRONG]
        found.append(Finding("wrong_sums", (node,), None, f"Wrong sums: {node} (with {', '.join(dict.fromkeys(mates))})"))
    for pair in pairs.values():
        says = f"Wrong sums: one of {', '.join(pair)}, or the link between them; the sums were wrong in this pair only"
        found.append(Finding("wrong_sums", pair, None, says))
    return frozenset(culprits) | {node for pair in pairs.values() for node in pair}, found


def _convicted(seen: Evidence, node: str) -> Finding:
    against = seen.against(node)
    slow = [result for result in against if result.state == SLOW]
    if len(slow) >= 2 or len(slow) == len(against):
        with_whom = [_with(node, result, first=at == 0) for at, result in enumerate(slow)]
        says = f"Slow node: {node} ({', '.join(with_whom)}{_others(seen)})"
        return Finding("slow_node", (node,), _best(slow), says)
    lost = [result for result in against if result.state == LOST]
    mates = ", ".join(result.other(node) for result in lost)
    says = f"Not decided: {node} gives no result with {mates}, which are good with others ({lost[0].reason})"
    return Finding("undecided", (node,), _best(slow), says)


def _pairs_of_good_nodes(seen: Evidence) -> list[Finding]:
    """Slow pairs. A node in several of them is doubted itself: it is good with one partner and slow with others."""
    slow = [pair for pair in seen.doubtful if any(r.state == SLOW for r in seen.of_pair[frozenset(pair)])]
    counts = Counter(node for pair in slow for node in pair)
    found = []
    for node in (node for node in seen.nodes if counts[node] >= 2):
        bad = [r for r in seen.of_node[node] if r.state == SLOW and r.other(node) in seen.good]
        fine = ", ".join(r.other(node) for r in seen.of_node[node] if r.state == GOOD)
        with_whom = ", ".join(_with(node, result, first=at == 0) for at, result in enumerate(bad))
        says = f"Not decided: {node} is slow with some ({with_whom}) and good with {fine}"
        found.append(Finding("undecided", (node,), _best(bad), says))
    for pair in slow:
        if any(counts[node] >= 2 for node in pair):
            continue
        results = seen.of_pair[frozenset(pair)]
        figures = " and ".join(figure(r.busbw_gbytes_per_s) for r in results if r.busbw_gbytes_per_s is not None)
        if any(result.state == GOOD for result in results):
            says = f"Not decided: {pair[0]} with {pair[1]} is slow in one round and good in another ({figures} GB/s)"
            found.append(Finding("undecided", pair, _best(results), says))
        else:
            says = f"Slow pair: {pair[0]} with {pair[1]} ({figures} GB/s); each is good with others{_others(seen)}"
            found.append(Finding("slow_pair", pair, _best(results), says))
    return found


def _open(seen: Evidence, left: list[str]) -> Finding:
    each = []
    for node in left[:_MOST_LISTED]:
        tried = [_with(node, result, first=True) for result in seen.of_node[node]]
        each.append(f"{node} ({', '.join(tried) or 'never measured'})")
    more = f", … ({len(left)} nodes)" if len(left) > _MOST_LISTED else ""
    says = f"Not decided: {', '.join(each)}{more}: too few good partners in {seen.rounds} rounds"
    return Finding("undecided", tuple(left), None, says)


def _with(node: str, result: PairResult, *, first: bool) -> str:
    """`0.007 GB/s with n1`, of the following ones without the unit."""
    if result.state == WRONG:
        return f"wrong sums with {result.other(node)}"
    if result.state == LOST or result.busbw_gbytes_per_s is None:
        return f"no result with {result.other(node)}"
    return f"{figure(result.busbw_gbytes_per_s)}{' GB/s' if first else ''} with {result.other(node)}"


def _others(seen: Evidence) -> str:
    figures = [r.busbw_gbytes_per_s for r in seen.results if r.state == GOOD and r.busbw_gbytes_per_s is not None]
    return f"; the others {figure(median(figures))}" if figures else ""


def _best(results: Iterable[PairResult]) -> float | None:
    return max((r.busbw_gbytes_per_s for r in results if r.busbw_gbytes_per_s is not None), default=None)


def _gbytes(value: float | None) -> str:
    return f"{figure(value)} GB/s"
