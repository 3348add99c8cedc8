"""The report's parts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

CREATED, UPDATED, REPLACED, DELETED = "created", "updated", "replaced", "deleted"
OPS: Final = (REPLACED, DELETED, UPDATED, CREATED)
"""From what loses most to what loses nothing."""
BAD: Final = (REPLACED, DELETED)
LEVELS: Final = ("mandatory", "advisory")
SEVERITIES: Final = ("critical", "high", "medium", "low", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happens to one resource. ``because``: the properties that differ, for a replacement those that force it."""

    op: str
    urn: str
    kind: str
    name: str
    because: tuple[str, ...] = ()
    precious: str = ""
    """What is lost when it is replaced or deleted: GPU nodes, a file system, a bucket; "" for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a policy says. ``checked`` is False for a note that it could not look."""

    level: str
    severity: str
    rule: str
    pack: str
    resource: str
    text: str
    checked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """One group of GPU nodes before and after; None where it is not there."""

    name: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def now(self) -> Mapping[str, Any]:
        """As it will be, or as it was."""
        return self.after or self.before or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Nodes that jobs are taken off. ``nodes`` is how many at most: what the group may have at its largest."""

    group: str
    nodes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """All of it. ``failed``: why the preview did not come to its end; then the rest is what was seen until then."""

    stack: str
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    results: tuple[Result, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    groups_known: bool = True
    """False where the pack could not see the whole stack: before or after is missing."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Groups that may have GPUs and could not be read: name -> why."""
    drains: tuple[Drain, ...] = ()
    diagnostics: tuple[tuple[str, str], ...] = ()
    """Severity and text of what the program and the providers said."""
    failed: str = ""

    @property
    def counts(self) -> Counter[str]:
        """Changes by what happens."""
        return Counter(each.op for each in self.changes)

    @property
    def lost(self) -> tuple[Change, ...]:
        """GPU groups, file systems and buckets that are replaced or deleted."""
        return tuple(each for each in self.changes if each.precious and each.op in BAD)

    @property
    def violations(self) -> tuple[Result, ...]:
        """What rules found, the worst first."""
        found = (each for each in self.results if each.checked)
        return tuple(sorted(found, key=lambda each: (_rank(LEVELS, each.level), _rank(SEVERITIES, each.severity), each.rule)))

    @property
    def not_checked(self) -> tuple[Result, ...]:
        """Notes of rules that could not look."""
        return tuple(each for each in self.results if not each.checked)

    def gpus(self, when: str) -> int:
        """GPUs of all groups at their largest; ``when`` is before or after."""
        return sum(int(side["gpus"]) for each in self.groups if (side := getattr(each, when)) is not None)

    def usd_per_hour(self, when: str) -> tuple[float, tuple[str, ...]]:
        """US dollars per hour of the groups with a known price, and the groups without one."""
        sides = [side for each in self.groups if (side := getattr(each, when)) is not None]
        known = sum(side["usd_per_hour"] for side in sides if side["usd_per_hour"] is not None)
        return known, tuple(side["name"] for side in sides if side["usd_per_hour"] is None)


def _rank(order: tuple[str, ...], value: str) -> int:
    return order.index(value) if value in order else len(order)
