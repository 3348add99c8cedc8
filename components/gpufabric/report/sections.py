"""The parts of one group's verdict, each a heading with a graphic, where there is one, and its table beside it."""

from collections.abc import Iterable, Sequence
from math import isfinite

from gpufabric.report.curve import curve
from gpufabric.report.gauge import gauge
from gpufabric.report.heatmap import MOST_NODES, heatmap, shown_nodes
from gpufabric.report.markup import Child, Html, join, tag
from gpufabric.report.verdict import PASSING, Verdict
from gpufabric.report.words import NOTHING, bandwidth, data, size, size_text, time_text, took

_SIGNS = {"pass": "✓", "fail": "\N{MULTIPLICATION SIGN}", "unknown": "?", "pending": "…", "deferred": "…"}
_MEANINGS = {
    "pass": "Nodes are open to jobs.",
    "fail": "Nodes stay closed.",
    "unknown": "The run proves nothing; nodes stay closed.",
    "pending": "Fewer nodes than asked; their labels were not touched.",
    "deferred": "Busy nodes are not disturbed; their labels were not touched.",
}
_BAD_FIRST = ("fatal", "critical", "fail", "error", "warning", "not checked", "not shown", "note", "passed")


def group(verdict: Verdict, name: str) -> Html:
    """Everything about one group. ``name`` makes ids unique on the page."""
    return tag(
        "section",
        _summary(verdict, name),
        _findings(verdict),
        _figures(verdict),
        _sizes(verdict, name),
        _pairs(verdict, name),
        _inside(verdict),
        _health(verdict),
        _environment(verdict),
        id=name,
        class_=f"group {_known(verdict.outcome)}",
        data_group=verdict.group,
        data_outcome=verdict.outcome,
    )


def badge(outcome: str) -> Html:
    """The outcome as a word with a sign, so that colour is never all that tells."""
    known = _known(outcome)
    return tag(
        "span",
        tag("span", _SIGNS.get(known, "?"), aria_hidden="true"),
        " ",
        (outcome or "none").upper(),
        class_=f"badge {known}",
    )


def table(kind: str, caption: str, heads: Sequence[str], rows: Iterable[Html]) -> Html:
    """A table that scrolls sideways on a narrow screen; ``kind`` names it for programs."""
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *(tag("th", each, scope="col") for each in heads))),
            tag("tbody", *rows),
            data_table=kind,
        ),
        class_="scroll",
        tabindex=0,
        role="group",
        aria_label=caption,
    )


def _known(outcome: str) -> str:
    return outcome if outcome in _SIGNS else "unknown"


def _row(head: Child, *cells: Child, **attributes: Child) -> Html:
    return tag("tr", tag("th", head, scope="row"), *(tag("td", cell) for cell in cells), **attributes)


def _summary(verdict: Verdict, name: str) -> Html:
    measured = verdict.busbw_gbytes_per_s
    at = f" at {size_text(verdict.size_bytes)}" if measured is not None and verdict.size_bytes else ""
    reason = verdict.reason[:1].upper() + verdict.reason[1:]
    return tag(
        "div",
        tag("h2", badge(verdict.outcome), " ", verdict.group),
        tag(
            "p",
            bandwidth(measured, data_of="busbw_gbytes_per_s") if measured is not None else "nothing measured",
            tag("span", f"{(verdict.collective or 'bus').replace('_', '-')} bandwidth{at}", class_="what"),
            class_="big",
        ),
        gauge(verdict, f"{name}-gauge"),
        tag("p", _sentence(reason), " ", _MEANINGS[_known(verdict.outcome)], class_="reason") if reason else None,
        tag("p", tag("strong", "Next: "), _sentence(verdict.fix), class_="fix")
        if verdict.fix and verdict.outcome != "pass"
        else None,
        *(tag("p", tag("strong", "Stands in: "), _sentence(each), class_="stand-in") for each in verdict.stand_ins),
        class_="summary",
    )


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _figures(verdict: Verdict) -> Html:
    floor, measured, healthy = verdict.floor_busbw_gbytes_per_s, verdict.busbw_gbytes_per_s, verdict.healthy_busbw_gbytes_per_s
    rows = [
        _row("measured bus bandwidth", bandwidth(measured), f"out of place, {_size_said(verdict)}"),
        _row("wanted, at least", bandwidth(floor, data_of="floor_busbw_gbytes_per_s"), verdict.floor_source or NOTHING),
    ]
    if healthy:
        rows.append(
            _row(
                "healthy clusters of this kind",
                join(data(healthy[0]), " to ", bandwidth(healthy[1])),
                "the baseline table's range, at the judged size",
            )
        )
    if measured is not None and floor and isfinite(measured / floor):
        rows.append(_row("measured / wanted", data(measured / floor, f"{measured / floor:.3g}"), "below 1 never passes"))
    for also in verdict.also:
        wanted = also.floor_busbw_gbytes_per_s
        held = "no floor is known for it" if wanted is None else f"wanted, at least {wanted:g} GB/s, {also.floor_source}"
        rows.append(_row(f"{also.collective}: {also.outcome}", bandwidth(also.busbw_gbytes_per_s), held))
    rows.append(_row("measured algorithm bandwidth", bandwidth(verdict.algbw_gbytes_per_s), "size / time"))
    latency = verdict.latency_us
    rows.append(_row("latency", data(latency, None if latency is None else time_text(latency)), "time of the smallest size"))
    return tag(
        "div",
        tag("h3", "Measured and wanted"),
        table("figures", "Measured and wanted", ("figure", "value", "what it is"), rows),
    )


def _size_said(verdict: Verdict) -> str:
    return size_text(verdict.size_bytes) if verdict.size_bytes else "largest size"


def _sizes(verdict: Verdict, name: str) -> Html | None:
    if not verdict.table:
        return None
    rows = []
    for each in verdict.table:
        out, inside = each.out_of_place, each.in_place
        judged = each.size_bytes is not None and each.size_bytes == verdict.size_bytes
        rows.append(
            _row(
                size(each.size_bytes),
                data(out.busbw_gbytes_per_s),
                data(inside.busbw_gbytes_per_s),
                data(out.time_us, None if out.time_us is None else time_text(out.time_us)),
                data(out.wrong),
                class_="judged" if judged else None,
            )
        )
    graphic = curve(verdict, f"{name}-curve")
    heads = ("size", "busbw, GB/s", "in place", "time", "wrong")
    return tag(
        "div",
        tag("h3", "By message size"),
        tag(
            "div",
            tag("figure", graphic, _legend(verdict)) if graphic else None,
            table("sizes", "Bus bandwidth by message size", heads, rows),
            class_="beside" if graphic else None,
        ),
    )


def _legend(verdict: Verdict) -> Html:
    keys = [("out-of-place", "out of place"), ("judged", "judged")]
    if any(row.in_place.busbw_gbytes_per_s is not None for row in verdict.table):
        keys.append(("in-place", "in place"))
    keys += [("floor", "floor, holds for the judged size")] if verdict.floor_busbw_gbytes_per_s is not None else []
    keys += [("healthy", "healthy clusters of this kind")] if verdict.healthy_busbw_gbytes_per_s else []
    return tag("figcaption", *(tag("span", tag("span", class_=f"key {kind}", aria_hidden="true"), said) for kind, said in keys))


def _findings(verdict: Verdict) -> Html | None:
    if not verdict.findings:
        return None
    rows = [
        _row(
            each.kind.replace("_", " ") or NOTHING,
            ", ".join(each.nodes) or "nobody singled out",
            bandwidth(each.busbw_gbytes_per_s),
            each.text,
        )
        for each in verdict.findings
    ]
    return tag(
        "div", tag("h3", "Findings"), table("findings", "Findings", ("kind", "nodes", "bus bandwidth", "what it says"), rows)
    )


def _pairs(verdict: Verdict, name: str) -> Html | None:
    if not verdict.pairs:
        return None
    rows = [
        _row(
            data(pair.round),
            pair.nodes[0],
            pair.nodes[1],
            pair.outcome or NOTHING,
            data(pair.busbw_gbytes_per_s),
            class_=None if pair.passed else "bad",
        )
        for pair in verdict.pairs
    ]
    nodes = {node for pair in verdict.pairs for node in pair.nodes}
    left_out = len(nodes) - len(shown_nodes(verdict.pairs))
    more = f" Of {len(nodes)} nodes, {MOST_NODES} are drawn, those of slow pairs first; the table has all." if left_out else ""
    said = f"Shade: bandwidth against the best pair. Cross: did not pass; ?: gave no result; empty: not measured.{more}"
    return tag(
        "div",
        tag("h3", "Pairs of nodes"),
        tag(
            "div",
            tag("figure", heatmap(verdict, f"{name}-pairs"), tag("figcaption", said)),
            table("pairs", "Pairs of nodes", ("round", "node", "node", "outcome", "busbw, GB/s"), rows),
            class_="beside",
        ),
    )


def _inside(verdict: Verdict) -> Html | None:
    """The nodes that did not pass come first."""
    found = verdict.inside
    if found is None:
        return None
    rows = [
        _row(
            each.node,
            each.outcome or NOTHING,
            bandwidth(each.busbw_gbytes_per_s),
            each.reason or NOTHING,
            class_=None if each.outcome in PASSING else "bad",
        )
        for each in sorted(found.nodes, key=lambda each: each.outcome in PASSING)
    ]
    at = f" at {size_text(found.size_bytes)}" if found.size_bytes else ""
    floor, source = found.floor_busbw_gbytes_per_s, f" ({found.floor_source})" if found.floor_source else ""
    wanted = (
        "no floor is known: complete, and every sum right" if floor is None else join("at least ", bandwidth(floor), source)
    )
    return tag(
        "div",
        tag("h3", "Inside each node"),
        tag("p", f"{found.what or 'Its own ranks'}{at}; wanted: ", wanted, class_="note"),
        table("inside", "Inside each node", ("node", "outcome", "bus bandwidth", "reason"), rows),
    )


def _health(verdict: Verdict) -> Html | None:
    if not verdict.health:
        return None
    ordered = sorted(verdict.health, key=lambda each: _BAD_FIRST.index(each.severity) if each.severity in _BAD_FIRST else 99)
    rows = [
        _row(
            each.node or NOTHING,
            each.what,
            each.measured or NOTHING,
            each.wanted or NOTHING,
            tag("span", each.severity or NOTHING, class_="severity"),
            each.fix or NOTHING,
            class_="bad" if each.severity in _BAD_FIRST[:4] else None,
        )
        for each in ordered
    ]
    heads = ("node", "what", "measured", "wanted", "severity", "fix")
    return tag("div", tag("h3", "Node health"), table("health", "Node health", heads, rows))


def _environment(verdict: Verdict) -> Html:
    seconds = took(verdict.started_at, verdict.finished_at)
    rows: list[tuple[str, Child]] = [
        ("nodes", ", ".join(verdict.nodes)),
        ("backend", verdict.backend),
        ("collective", verdict.collective),
        ("ranks", data(verdict.ranks) if verdict.ranks is not None else ""),
        ("image", verdict.image),
        ("run", data(verdict.run) if verdict.run is not None else ""),
        ("started", verdict.started_at),
        ("finished", f"{verdict.finished_at} (took {seconds})" if seconds else verdict.finished_at),
        ("stack", verdict.stack),
        ("fingerprint", verdict.fingerprint),
        ("stand-ins", "; ".join(verdict.stand_ins) or "none"),
    ]
    return tag(
        "div",
        tag("h3", "Environment"),
        table("environment", "Environment", ("what", "value"), [_row(head, value or NOTHING) for head, value in rows]),
    )
