"""The report as Markdown, for one comment below a pull request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gpufabric.report.markup import clean
from gpufabric.review.model import BAD, OPS, Result, Review
from gpufabric.review.words import change_line, cost_line, gpu_line, grouped, headline, was_and_is, where

MARK: Final = "<!-- gpufabric-review: {} -->"
"""First line: by it the comment is found again."""
_MOST: Final = 40
"""Rows of one table: GitHub takes 65,536 characters, GitLab a million."""
_NAMES: Final = 6
_MOST_CHARACTERS: Final = 60_000


def markdown(review: Review) -> str:
    """The whole report. What does not fit into a comment is counted, and said to stand in the other forms."""
    parts = [*_top(review), *_lost(review), *_drains(review), *_results(review), *_groups(review), *_changes(review)]
    parts += _diagnostics(review)
    text = f"{MARK.format(_comment(review.stack))}\n" + "\n\n".join(parts) + "\n"
    if len(text) > _MOST_CHARACTERS:
        cut = text.rfind("\n", 0, _MOST_CHARACTERS)
        text = text[:cut] + "\n\n*Cut here: the rest is in the report's HTML or JSON form.*\n"
    return text


def _comment(text: str) -> str:
    return " ".join(clean(text).split()).replace("--", "- -").replace(">", "")


def code(text: str) -> str:
    """Text as it is, in one line: nothing in it is markup or a mention."""
    line = " ".join(clean(text).split())
    ticks = "`" * (1 + max((len(run) for run in _runs(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}".replace("|", "\\|") if line else ""


def _runs(line: str) -> Iterator[str]:
    run = ""
    for letter in line:
        run = run + letter if letter == "`" else ""
        if run:
            yield run


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows[:_MOST]]
    if len(rows) > _MOST:
        lines.append(f"\n*and {len(rows) - _MOST} more*")
    return "\n".join(lines)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _top(review: Review) -> Iterator[str]:
    broken = any(each.level == "mandatory" for each in review.violations)
    sign = "❌" if review.failed or broken else "⚠️" if review.lost or review.violations else "✅"
    yield f"### {sign} gpufabric review: {code(review.stack)}"
    yield f"**{code(headline(review)) if review.failed else headline(review)}**"
    rows = [
        ["resources", change_line(review)],
        ["GPUs, at their largest", gpu_line(review)],
        ["GPU machines", cost_line(review)],
    ]
    unchecked = len(review.not_checked)
    rows.append(["rules not checked", f"{unchecked}, see below" if unchecked else "0"])
    yield _table(["", ""], rows)


def _lost(review: Review) -> Iterator[str]:
    if review.lost:
        rows = [
            [each.precious, f"**{each.op.upper()}**", code(each.name), ", ".join(map(code, each.because))]
            for each in review.lost
        ]
        yield "#### Lost with this change\n\n" + _table(["what", "happens", "name", "because of"], rows)


def _drains(review: Review) -> Iterator[str]:
    if review.drains:
        rows = [[code(each.group), f"up to {each.nodes}", code(each.why)] for each in review.drains]
        yield "#### Nodes that will be drained\n\n" + _table(["group", "nodes", "why"], rows)


def _results(review: Review) -> Iterator[str]:
    if review.violations:
        rows = [_row(each, names) for each, names in grouped(review.violations)]
        yield "#### Rules\n\n" + _table(["level", "severity", "rule", "resource", "found"], rows)
    if review.not_checked:
        rows = [[code(each.rule), code(each.resource), code(each.text)] for each in review.not_checked]
        yield _folded(f"{len(rows)} rules could not be checked in part", _table(["rule", "resource", "why"], rows))


def _row(each: Result, names: Sequence[str]) -> list[str]:
    level = f"**{each.level}**" if each.level == "mandatory" else each.level
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return [level, each.severity or "-", code(each.rule), ", ".join(map(code, names[:_NAMES])) + more, code(each.text)]


def _groups(review: Review) -> Iterator[str]:
    if review.groups:
        rows = [
            [code(each.name), code(was_and_is(each)), code(where(each.now)), code(each.now["fabric"]), code(each.now["cost"])]
            for each in review.groups
        ]
        yield "#### GPU groups\n\n" + _table(["group", "nodes", "had", "fabric", "cost per hour"], rows)
    if review.unread:
        said = "; ".join(f"{code(name)}: {code(why)}" for name, why in review.unread.items())
        yield f"Groups that could not be read: {said}"


def _changes(review: Review) -> Iterator[str]:
    for op in OPS:
        found = [each for each in review.changes if each.op == op]
        if found:
            rows = [[code(each.kind), code(each.name), ", ".join(map(code, each.because[:6]))] for each in found]
            table = _table(["type", "name", "because of" if op in BAD else "properties"], rows)
            yield _folded(f"{len(found)} {op}", table)


def _diagnostics(review: Review) -> Iterator[str]:
    lines: Iterable[str] = (f"- {severity}: {code(text)}" for severity, text in review.diagnostics)
    said = "\n".join(lines)
    if said:
        yield _folded(f"{len(review.diagnostics)} messages of the preview", said)
