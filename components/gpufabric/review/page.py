"""The report as an HTML page: the same parts as in the comment, with nothing left out."""

from collections.abc import Iterator, Sequence

from gpufabric.report.document import document
from gpufabric.report.markup import Child, Html, join, tag
from gpufabric.report.sections import table
from gpufabric.review.model import OPS, Review
from gpufabric.review.words import change_line, cost_line, gpu_line, grouped, headline, was_and_is, where


def page(review: Review, *, version: str = "") -> str:
    """One HTML document."""
    title = f"Review of {review.stack}"
    return document(
        title,
        tag("header", tag("p", "gpufabric review", class_="brand"), tag("h1", title)),
        tag("main", _summary(review), *_parts(review), class_=_tone(review)),
        tag(
            "footer",
            tag("p", "Counts, GPUs and cost are of groups at their largest; prices are dated snapshots of public lists."),
            tag("p", f"gpufabric {version}") if version else None,
        ),
    )


def _tone(review: Review) -> str:
    if review.failed or any(each.level == "mandatory" for each in review.violations):
        return "fail"
    return "unknown" if review.lost or review.violations else "pass"


def _summary(review: Review) -> Html:
    before, after = review.gpus("before"), review.gpus("after")
    rows = [
        ("resources", change_line(review), None),
        ("GPUs, at their largest", gpu_line(review), after - before if review.groups_known else None),
        ("GPU machines", cost_line(review), None),
        ("rules not checked", tag("data", len(review.not_checked), value=len(review.not_checked), data_of="not_checked"), None),
    ]
    return tag(
        "section",
        tag("h2", tag("span", headline(review))),
        table("figures", "What would change", ("what", "how much"), [_row(what, much) for what, much, _ in rows]),
        class_="summary",
        data_changes=len(review.changes),
        data_gpus=after if review.groups_known else None,
    )


def _row(head: Child, *cells: Child) -> Html:
    return tag("tr", tag("th", head, scope="row"), *(tag("td", each) for each in cells))


def _section(title: str, kind: str, heads: Sequence[str], rows: Sequence[Html]) -> Html | None:
    if not rows:
        return None
    return join(tag("h3", title), table(kind, title, heads, rows))


def _parts(review: Review) -> Iterator[Html | None]:
    yield _section(
        "Lost with this change",
        "lost",
        ("what", "happens", "name", "because of"),
        [_row(each.precious, each.op, each.name, ", ".join(each.because)) for each in review.lost],
    )
    yield _section(
        "Nodes that will be drained",
        "drains",
        ("group", "nodes, at most", "why"),
        [_row(each.group, tag("data", each.nodes, value=each.nodes, data_of="drained"), each.why) for each in review.drains],
    )
    yield _section(
        "Rules",
        "rules",
        ("level", "severity", "rule", "resource", "found"),
        [_row(each.level, each.severity, each.rule, ", ".join(names), each.text) for each, names in grouped(review.violations)],
    )
    yield _section(
        "Rules that could not be checked in part",
        "unchecked",
        ("rule", "resource", "why"),
        [_row(each.rule, each.resource, each.text) for each in review.not_checked],
    )
    yield _section(
        "GPU groups",
        "groups",
        ("group", "nodes", "had", "fabric", "cost per hour"),
        [_row(e.name, was_and_is(e), where(e.now), e.now["fabric"], e.now["cost"]) for e in review.groups],
    )
    yield _section(
        "Groups that could not be read",
        "unread",
        ("group", "why"),
        [_row(name, why) for name, why in review.unread.items()],
    )
    for op in OPS:
        yield _section(
            f"{op.capitalize()} ({review.counts[op]})",
            f"changes-{op}",
            ("type", "name", "properties"),
            [_row(each.kind, each.name, ", ".join(each.because)) for each in review.changes if each.op == op],
        )
    yield _section(
        "Messages of the preview",
        "diagnostics",
        ("severity", "message"),
        [_row(severity, text) for severity, text in review.diagnostics],
    )
