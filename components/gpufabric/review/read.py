"""From engine events, and what the pack saw before and after, to a report."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gpufabric.policy import PACK, RULES
from gpufabric.policy.judge import NOT_CHECKED
from gpufabric.policy.rules.storage import FILE_SYSTEMS, GCS, S3
from gpufabric.review.model import CREATED, DELETED, REPLACED, UPDATED, Change, Drain, GroupChange, Result, Review

Facts = Mapping[str, Any]

_OPS: Final = {
    "create": CREATED,
    "import": CREATED,
    "update": UPDATED,
    "replace": REPLACED,
    "create-replacement": REPLACED,
    "import-replacement": REPLACED,
    "delete": DELETED,
}
_STRONGER: Final = {CREATED: 0, UPDATED: 1, DELETED: 2, REPLACED: 3}
_COLOUR: Final = re.compile(r"<\{%.*?%\}>|\x1b\[[0-9;]*m")
_FAILED: Final = "preview failed"
"""The engine's last word on broken rules, too: those say more."""
_FIX: Final = "\nTo fix: "
_SEVERITY: Final = {each.name: each.severity for each in RULES}
# A change of one of these starts new nodes in a group that stays: EKS and GKE user guides, "update".
_ROLLS: Final = ("launchTemplate", "releaseVersion", "version", "amiType", "nodeConfig", "instanceTypes", "diskSize")


def read_review(stack: str, events: Iterable[Mapping[str, Any]], before: Facts | None, after: Facts | None) -> Review:
    """``before`` and ``after`` are of :func:`gpufabric.policy.facts.facts_of`; None: not known."""
    changes: dict[str, Change] = {}
    results: list[Result] = []
    diagnostics: list[tuple[str, str]] = []
    unchanged = 0
    gpu_urns = {each["urn"] for facts in (before, after) if facts for each in facts["groups"]}
    for event in events:
        if step := event.get("resource_pre_event"):
            metadata = step["metadata"]
            if metadata["op"] == "same":
                unchanged += 1
            change = _change(metadata, gpu_urns)
            old = changes.get(metadata["urn"])
            if change and (old is None or _STRONGER[change.op] > _STRONGER[old.op]):
                changes[change.urn] = change
        elif said := event.get("policy_event"):
            results.append(_result(said))
        elif said := event.get("diagnostic_event"):
            text = plain(said["message"]).strip()
            if text and text != _FAILED and said["severity"] in ("warning", "error") and not said.get("ephemeral"):
                diagnostics.append((said["severity"], text))
    of_program = [text for severity, text in diagnostics if severity == "error"]
    groups = tuple(_groups(before, after))
    return Review(
        stack=stack,
        changes=tuple(
            sorted(changes.values(), key=lambda each: (-_STRONGER[each.op], not each.precious, each.kind, each.name))
        ),
        unchanged=unchanged,
        results=tuple(results),
        groups=groups,
        groups_known=before is not None and after is not None,
        unread={_name(urn): why for urn, why in (after or before or {}).get("unread", {}).items()},
        drains=tuple(_drains(changes, groups)),
        diagnostics=tuple(dict.fromkeys(diagnostics)),
        failed=of_program[0].splitlines()[0] if of_program else "",
    )


def plain(text: str) -> str:
    """Text of an event without the engine's marks for colours."""
    return _COLOUR.sub("", text)


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _change(metadata: Mapping[str, Any], gpu_urns: set[str]) -> Change | None:
    op = _OPS.get(metadata["op"])
    kind = metadata["type"]
    if op is None or kind.startswith("pulumi:"):
        return None
    because = (metadata.get("keys") if op == REPLACED else None) or metadata.get("diffs") or ()
    urn = metadata["urn"]
    return Change(op=op, urn=urn, kind=kind, name=_name(urn), because=tuple(because), precious=_precious(kind, urn in gpu_urns))


def _precious(kind: str, has_gpus: bool) -> str:
    if has_gpus:
        return "GPU nodes"
    if kind in FILE_SYSTEMS:
        return "file system"
    return "bucket" if kind in S3 or kind == GCS else ""


def _result(said: Mapping[str, Any]) -> Result:
    """A policy's message; what our pack adds about how to fix it stands in the documentation, too, and is left out."""
    text = plain(said["message"]).strip()
    pack = said["policy_pack_name"]
    return Result(
        level=said["enforcement_level"],
        severity=_SEVERITY.get(said["policy_name"], "") if pack == PACK else "",
        rule=said["policy_name"],
        pack=pack,
        resource=_name(said.get("resource_urn") or ""),
        text=text.partition(_FIX)[0],
        checked=not text.startswith(NOT_CHECKED) and not text.startswith("can't run policy"),
    )


def _groups(before: Facts | None, after: Facts | None) -> Iterator[GroupChange]:
    sides = [{each["urn"]: each for each in (facts or {}).get("groups", ())} for facts in (before, after)]
    for urn in dict.fromkeys([*sides[0], *sides[1]]):
        yield GroupChange(name=_name(urn), before=sides[0].get(urn), after=sides[1].get(urn))


def _drains(changes: Mapping[str, Change], groups: Iterable[GroupChange]) -> Iterator[Drain]:
    """Nodes that go or are replaced. A template's change rolls the group when the group's own version of it changes."""
    for group in groups:
        if group.before is None:
            continue
        nodes, change = int(group.before["nodes"]), changes.get(group.before["urn"])
        if change is not None and change.op in (REPLACED, DELETED):
            why = f"the group is {change.op}" + (f" ({', '.join(change.because)})" if change.because else "")
            yield Drain(group=group.name, nodes=nodes, why=why)
            continue
        rolling = [each for each in change.because if each.partition(".")[0].partition("[")[0] in _ROLLS] if change else []
        fewer = nodes - int(group.after["nodes"]) if group.after else 0
        if rolling and nodes:
            yield Drain(group=group.name, nodes=nodes, why=f"new nodes: {', '.join(rolling)}")
        elif fewer > 0:
            yield Drain(group=group.name, nodes=fewer, why="the group shrinks")
