"""Rules over resources: what is wrong, and what could not be checked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpufabric.policy.model import Resource, Rule, Settings, Stack
from gpufabric.policy.tree import NotCheckedError

NOT_CHECKED = "not checked: "
"""How a note about a rule that could not be checked begins; ``gpufabric review`` counts them by it."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Result:
    """What a rule found about one resource: faults, and why it could not look at the rest."""

    rule: Rule
    resource: Resource
    faults: tuple[str, ...]
    not_checked: str = ""


def judged(rule: Rule, resource: Resource, stack: Stack, settings: Settings) -> Result:
    """One rule, one resource. What it found before something could not be read counts."""
    faults: list[str] = []
    try:
        faults.extend(dict.fromkeys(rule.check(resource, stack, {**rule.defaults, **settings})))
    except NotCheckedError as reason:
        return Result(rule, resource, tuple(faults), str(reason))
    return Result(rule, resource, tuple(faults))


def over(
    rules: Iterable[Rule], resources: Iterable[Resource], stack: Stack, settings: Mapping[str, Settings]
) -> Iterator[Result]:
    """All rules over all resources of their kinds; only results that say something."""
    chosen = tuple(rules)
    for resource in resources:
        for each in (rule for rule in chosen if rule.covers(resource.kind)):
            result = judged(each, resource, stack, settings.get(each.name, {}))
            if result.faults or result.not_checked:
                yield result


def notes(results: Iterable[Result]) -> dict[str, str]:
    """By rule: one line about all resources that it could not check."""
    reasons: dict[str, list[str]] = {}
    for each in results:
        if each.not_checked:
            reasons.setdefault(each.rule.name, []).append(f"{each.resource.name} ({each.not_checked})")
    said = {}
    for name, found in reasons.items():
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        noun = "resource" if len(found) == 1 else "resources"
        said[name] = f"{NOT_CHECKED}{len(found)} {noun}: {', '.join(found[:_SHOWN])}{more}"
    return said
