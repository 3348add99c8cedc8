"""The page: what was decided, why, and every number behind it; for one group or for all of a stack."""

from collections.abc import Sequence

from gpufabric.report import sections
from gpufabric.report.document import document
from gpufabric.report.markup import Html, tag
from gpufabric.report.verdict import Verdict
from gpufabric.report.words import bandwidth


def page(verdicts: Sequence[Verdict], *, version: str = "", note: str = "") -> str:
    """One HTML document. ``note``: a line about where the verdicts come from."""
    heading = _title(verdicts)
    return document(
        heading,
        tag(
            "header",
            tag("p", "gpufabric validation", class_="brand"),
            tag("h1", heading),
            tag("p", note, class_="note") if note else None,
            _overview(verdicts) if len(verdicts) > 1 else None,
        ),
        tag("main", *(sections.group(verdict, f"g{position}") for position, verdict in enumerate(verdicts))),
        tag(
            "footer",
            tag(
                "p",
                "GB/s is 1e9 bytes per second; KiB, MiB and GiB count in 1024. The largest message is judged, out of place: "
                "small ones fit into buffers and bursts.",
            ),
            tag("p", f"gpufabric {version}") if version else None,
        ),
    )


def _title(verdicts: Sequence[Verdict]) -> str:
    stacks = list(dict.fromkeys(verdict.stack for verdict in verdicts if verdict.stack))
    where = f"Stack {stacks[0]}" if len(stacks) == 1 else "Verdicts"
    groups = ", ".join(verdict.group for verdict in verdicts[:4]) + (", …" if len(verdicts) > 4 else "")
    return f"{where}: {groups}"


def _overview(verdicts: Sequence[Verdict]) -> Html:
    rows = [
        tag(
            "tr",
            tag("th", tag("a", verdict.group, href=f"#g{position}"), scope="row"),
            tag("td", sections.badge(verdict.outcome)),
            tag("td", bandwidth(verdict.busbw_gbytes_per_s)),
            tag("td", bandwidth(verdict.floor_busbw_gbytes_per_s)),
        )
        for position, verdict in enumerate(verdicts)
    ]
    return tag(
        "nav",
        sections.table("overview", "All groups", ("group", "verdict", "measured", "wanted, at least"), rows),
        aria_label="Groups",
    )
