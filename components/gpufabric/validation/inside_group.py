"""Stage 1 as the coordinator sees it: results from the judges' messages, and what they mean for the group. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufabric.validation.findings import Finding
from gpufabric.validation.inside_wish import Inside
from gpufabric.validation.judge import size_text
from gpufabric.validation.measurement import InsideResult
from gpufabric.validation.pods import Pod, measurements
from gpufabric.validation.words import count, figure, listed


def results(pods: Iterable[Pod]) -> dict[str, InsideResult]:
    """Node -> result, of the judges that have spoken."""
    return {node: found.inside for node, found in measurements(pods) if found.inside is not None}


def bad(found: Mapping[str, InsideResult]) -> dict[str, InsideResult]:
    """Those that did not pass."""
    return {node: result for node, result in sorted(found.items()) if result.outcome != "pass"}


def outcome(found: Mapping[str, InsideResult]) -> str:
    """Of the group, where not all passed: fail if a node was measured and found wanting, else unknown."""
    return "fail" if any(each.outcome == "fail" for each in found.values()) else "unknown"


def reason(found: Mapping[str, InsideResult]) -> str:
    """Which nodes did not pass, in a line; the findings have each node's own reason."""
    some = bad(found)
    first = next(iter(some.values()))
    what = "wrong inside" if outcome(some) == "fail" else "no result inside"
    return f"{what} before any network run: {listed(tuple(some))} ({first.reason}); none was started"


def fix(found: Mapping[str, InsideResult]) -> str:
    """What to do about it."""
    if outcome(found) == "unknown":
        return "read the log of the rank container on that node, repair what the reason names"
    if any(each.cause == "wrong_sums" for each in found.values()):
        return "data is corrupted inside the node: take it out of service, check ECC and XID errors"
    return "compare NVLink and PCIe of the node with a good one's (nvidia-smi nvlink -s, topo -m), repair or replace it"


def findings(found: Mapping[str, InsideResult]) -> tuple[Finding, ...]:
    """A finding for each node that did not pass; one that was measured and found wanting is named for it."""
    out = []
    for node, result in bad(found).items():
        failed = result.outcome == "fail"
        says = f"{'Bad inside' if failed else 'Not decided'}: {node}: {result.reason} (its own ranks only)"
        out.append(Finding("bad_inside" if failed else "undecided", (node,), result.busbw_gbytes_per_s, says))
    return tuple(out)


def summary(wish: Inside | None, found: Mapping[str, InsideResult]) -> str:
    """One sentence for the verdict's message, of those that passed; empty: nothing."""
    passed = [each for each in found.values() if each.outcome == "pass"]
    if wish is None or not passed:
        return ""
    nodes = count(len(passed), "node")
    if wish.floor_busbw_gbytes_per_s is None:
        return f"Inside: sums right on {nodes} ({wish.what}; no floor is known)"
    speeds = sorted(each.busbw_gbytes_per_s for each in passed if each.busbw_gbytes_per_s is not None)
    span = " to ".join(dict.fromkeys(figure(each) for each in (speeds[0], speeds[-1]))) if speeds else "?"
    wanted = f"wanted at least {figure(wish.floor_busbw_gbytes_per_s)}"
    return f"Inside: busbw {span} GB/s at {size_text(wish.max_bytes)} on {nodes} ({wish.what}; {wanted})"


def to_verdict(wish: Inside | None, found: Mapping[str, InsideResult]) -> dict[str, Any] | None:
    """The `inside` part of verdict.json; None if stage 1 did not run."""
    if wish is None:
        return None
    return {
        "what": wish.what,
        "size_bytes": wish.max_bytes,
        "floor_busbw_gbytes_per_s": wish.floor_busbw_gbytes_per_s,
        "floor_source": wish.floor_source,
        "nodes": {node: result.to_raw() for node, result in sorted(found.items())},
    }
