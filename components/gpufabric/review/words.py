"""Sentences that every form of the report has: what is said first, cost and GPUs, the fabric of a group."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufabric.review.model import OPS, GroupChange, Result, Review


def headline(review: Review) -> str:
    """The one line that matters most."""
    if review.failed:
        return f"The preview failed: {review.failed}"
    broken = [each.rule for each in review.violations if each.level == "mandatory"]
    lost = len(review.lost)
    parts = []
    if broken:
        rules = len(set(broken))
        places = f", {len(broken)} times" if len(broken) > rules else ""
        parts.append(f"{rules} mandatory {'rule is' if rules == 1 else 'rules are'} broken{places}")
    if lost:
        parts.append(f"{lost} of GPU nodes, file systems and buckets {'is' if lost == 1 else 'are'} replaced or deleted")
    if parts:
        return "; ".join(parts)
    return "No mandatory rule is broken" if review.results or review.changes else "Nothing changes"


def grouped(results: Iterable[Result]) -> list[tuple[Result, tuple[str, ...]]]:
    """Results that say the same of several resources, once, with the resources."""
    found: dict[tuple[str, str, str, str], list[Result]] = {}
    for each in results:
        found.setdefault((each.level, each.pack, each.rule, each.text), []).append(each)
    return [(same[0], tuple(each.resource for each in same)) for same in found.values()]


def change_line(review: Review) -> str:
    """``2 replaced, 1 created, 40 unchanged``."""
    parts = [f"{review.counts[op]} {op}" for op in OPS if review.counts[op]]
    return ", ".join([*parts, f"{review.unchanged} unchanged"])


def gpu_line(review: Review) -> str:
    """GPUs at their largest, before and after."""
    if not review.groups_known:
        return "not known: the pack did not see the whole stack"
    before, after = review.gpus("before"), review.gpus("after")
    return f"{after} ({after - before:+d})" if before != after else f"{after} (no change)"


def cost_line(review: Review) -> str:
    """US dollars per hour of the GPU machines at their largest, by the dated price table."""
    if not review.groups_known:
        return "not known: the pack did not see the whole stack"
    (before, _), (after, unknown) = review.usd_per_hour("before"), review.usd_per_hour("after")
    said = f"{after:.2f} USD/h" + (f" ({after - before:+.2f})" if abs(after - before) >= 0.005 else " (no change)")
    return said + (f"; no price is known for {', '.join(unknown)}" if unknown else "")


def size(side: Mapping[str, Any] | None) -> str:
    """``4 x p5.48xlarge``, or nothing."""
    return f"{side['nodes']} x {side['machine']}" if side else "-"


def was_and_is(group: GroupChange) -> str:
    """Size before and after, once where it stays."""
    before, after = size(group.before), size(group.after)
    return after if before == after else f"{before} → {after}"


def where(side: Mapping[str, Any]) -> str:
    """How the nodes are had, and where."""
    place = ", ".join(side["zones"]) or side["region"] or "place not known"
    return f"{str(side['way']).replace('_', ' ')}, {place}"
