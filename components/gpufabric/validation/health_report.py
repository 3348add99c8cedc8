"""What stage 0 found: findings of one node, small enough for a termination message, and what is said of a group of nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, NOTE, WARNING, Health

_ORDER: Final = (FATAL, WARNING, NOT_CHECKED, NOTE)
_MOST_LETTERS: Final = 160
_MOST_BYTES: Final = 1400
_MOST_NAMED: Final = 16


@dataclass(frozen=True)
class Finding:
    """One check of one node that did not simply pass. `severity`: fatal | warning | not checked | note."""

    check: str
    severity: str
    measured: str
    wanted: str


@dataclass(frozen=True)
class Report:
    """One node. Every wanted check is in `passed` or has a finding; `dropped`: findings that had no room in the message."""

    passed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    dropped: int = 0

    def of(self, severity: str) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(each for each in self.findings if each.severity == severity)

    def with_later(self, later: "Report") -> "Report":
        """The same node, looked at again: what was said then counts. What could not be read does not lift what was found."""
        bad = {each.check for each in self.findings if each.severity in (FATAL, WARNING)}
        found = [each for each in later.findings if each.severity != NOT_CHECKED or each.check not in bad]
        again = {*later.passed, *(each.check for each in found)}
        return Report(
            (*(name for name in self.passed if name not in again), *later.passed),
            (*(each for each in self.findings if each.check not in again), *found),
            self.dropped + later.dropped,
        )

    @property
    def fatal(self) -> tuple[Finding, ...]:
        return self.of(FATAL)

    def to_raw(self, most_bytes: int = _MOST_BYTES) -> dict[str, Any]:
        """Plain data within the limit: the worst findings stay, what is dropped is counted."""
        ordered = sorted(self.findings, key=lambda each: _ORDER.index(each.severity))
        rows = [[each.check, each.severity, cut(each.measured), cut(each.wanted)] for each in ordered]
        kept: list[list[str]] = []
        room = most_bytes - sum(len(name) + 3 for name in self.passed)
        for row in rows:
            room -= sum(len(text.encode("ascii", "backslashreplace")) + 3 for text in row)
            if room < 0 and kept:
                break
            kept.append(row)
        return {"passed": list(self.passed), "findings": kept, "dropped": self.dropped + len(rows) - len(kept)}


def cut(text: str, most: int = _MOST_LETTERS) -> str:
    """One line, at most so long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 2]} …"


def parse(raw: Any) -> Report | None:
    """`to_raw`'s data as a Report; None for anything else."""
    if not isinstance(raw, dict):
        return None
    passed, rows, dropped = raw.get("passed"), raw.get("findings"), raw.get("dropped")
    if not isinstance(passed, list) or not isinstance(rows, list) or not isinstance(dropped, int):
        return None
    findings = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 4 or not all(isinstance(text, str) for text in row) or row[1] not in _ORDER:
            return None
        findings.append(Finding(*row))
    return Report(tuple(str(name) for name in passed), tuple(findings), dropped)


def fatal_text(report: Report) -> str:
    """The fatal findings of one node: what was measured, what was wanted."""
    return "; ".join(f"{each.check}: {each.measured} (wanted {each.wanted})" for each in report.fatal)


def reason(reports: Mapping[str, Report]) -> str:
    """Which nodes are sick, and of what in one word each; empty if none is. The findings have the figures."""
    said = [
        f"{node} ({', '.join(each.check for each in report.fatal)})" for node, report in sorted(reports.items()) if report.fatal
    ]
    more = f" and {len(said) - _MOST_NAMED} more" if len(said) > _MOST_NAMED else ""
    return f"sick before any network run: {', '.join(said[:_MOST_NAMED])}{more}; none was started" if said else ""


def fix(wish: Health | None, reports: Mapping[str, Report]) -> str:
    """What to do about the fatal findings, each advice once."""
    checks = dict.fromkeys(each.check for report in reports.values() for each in report.fatal)
    return "; ".join(dict.fromkeys(wish.rule(check).fix for check in checks)) if wish else ""


def summary(reports: Mapping[str, Report]) -> str:
    """One sentence for the verdict's message: how much was checked, each warning, and what was not checked. Empty: nothing."""
    if not reports:
        return ""
    passed = sum(len(each.passed) for each in reports.values())
    parts = [f"{passed} checks passed on {len(reports)} node{'' if len(reports) == 1 else 's'}"]
    warnings = _by_check(reports, WARNING)
    parts += [f"warning {check} on {_nodes(where)}: {said}" for check, (where, said) in warnings.items()]
    unread = _by_check(reports, NOT_CHECKED)
    dropped = sum(each.dropped for each in reports.values())
    if count := sum(len(where) for where, _ in unread.values()) + dropped:
        parts.append(f"{count} not checked ({', '.join(unread) or 'see the verdict'})")
    return f"Node health: {', '.join(parts)}"


def _by_check(reports: Mapping[str, Report], severity: str) -> dict[str, tuple[list[str], str]]:
    """Check -> the nodes with such a finding, and what the first of them says."""
    out: dict[str, tuple[list[str], str]] = {}
    for node, report in sorted(reports.items()):
        for each in report.of(severity):
            out.setdefault(each.check, ([], each.measured))[0].append(node)
    return out


def _nodes(names: Iterable[str], most: int = 4) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def to_verdict(wish: Health | None, reports: Mapping[str, Report]) -> dict[str, Any] | None:
    """The `health` part of verdict.json: per node what passed and each finding with its fix; None if stage 0 did not run."""
    if wish is None:
        return None
    return {
        node: {
            "passed": list(report.passed),
            "findings": [
                {**each.__dict__, "fix": wish.rule(each.check).fix if each.severity in (FATAL, WARNING) else ""}
                for each in report.findings
            ],
            "dropped": report.dropped,
        }
        for node, report in sorted(reports.items())
    }
