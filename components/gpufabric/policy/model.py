"""What rules are about: resources and how they hang together; what a rule says of itself and of a resource."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property, wraps
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

from gpufabric.policy.tree import Node

Level = Literal["advisory", "mandatory", "remediate", "disabled"]
Severity = Literal["low", "medium", "high", "critical"]

T = TypeVar("T")
P = ParamSpec("P")

STACK: Final = "pulumi:pulumi:Stack"
DOCS: Final = "docs/policies.md"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """A resource as the program asks for it: its inputs, after the provider's own defaults."""

    urn: str
    kind: str
    """Type token, such as ``aws:ec2/launchTemplate:LaunchTemplate``."""
    name: str
    props: Node
    provider: Node = field(default_factory=lambda: Node(None))
    """Configuration of its provider: the region, default tags."""
    protect: bool = False
    parent: str = ""
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Property -> URNs of the resources whose outputs it holds. Known once the whole stack is."""
    after: tuple[str, ...] = ()
    """URNs of all resources that it depends on."""


class Stack:
    """All resources of a program, and what refers to what."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.by_urn = {each.urn: each for each in resources}
        self.answers: dict[Any, Any] = {}
        """What :func:`once` was asked of this stack."""

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Resource, ...]]:
        """Resources by type token."""
        found: dict[str, list[Resource]] = {}
        for each in self.by_urn.values():
            found.setdefault(each.kind, []).append(each)
        return {kind: tuple(each) for kind, each in found.items()}

    def of(self, *patterns: str) -> Iterator[Resource]:
        """Resources whose type matches one of the patterns."""
        for kind, found in self.by_kind.items():
            if any(fnmatchcase(kind, pattern) for pattern in patterns):
                yield from found

    def linked(self, resource: Resource, prop: str, *patterns: str) -> list[Resource]:
        """What a property refers to in this program, of these types."""
        found = (self.by_urn[urn] for urn in resource.links.get(prop, ()) if urn in self.by_urn)
        return [each for each in found if not patterns or any(fnmatchcase(each.kind, pattern) for pattern in patterns)]

    @cached_property
    def _holders(self) -> Mapping[str, Mapping[str, tuple[tuple[str, Resource], ...]]]:
        """URN -> type token -> who of that type refers to it. By type: a thousand templates share one security group."""
        found: dict[str, dict[str, list[tuple[str, Resource]]]] = {}
        for each in self.by_urn.values():
            for prop, urns in each.links.items():
                for urn in urns:
                    found.setdefault(urn, {}).setdefault(each.kind, []).append((prop, each))
        return {urn: {kind: tuple(each) for kind, each in kinds.items()} for urn, kinds in found.items()}

    def referring(self, resource: Resource, *patterns: str) -> list[tuple[str, Resource]]:
        """Who refers to a resource, and by which property."""
        kinds = self._holders.get(resource.urn, {})
        return [one for kind, found in kinds.items() if any(fnmatchcase(kind, each) for each in patterns) for one in found]

    def below(self, resource: Resource, kind: str) -> bool:
        """Is it a child, at any depth, of a component of this type?"""
        seen: set[str] = set()
        urn = resource.parent
        while urn in self.by_urn and urn not in seen:
            seen.add(urn)
            if fnmatchcase(self.by_urn[urn].kind, kind):
                return True
            urn = self.by_urn[urn].parent
        return False


def once(read: Callable[Concatenate[Stack, P], T]) -> Callable[Concatenate[Stack, P], T]:
    """Read something of a stack once: rules ask for it with every resource. What raises is asked again."""

    @wraps(read)
    def answer(stack: Stack, /, *args: P.args, **kwargs: P.kwargs) -> T:
        question = (read, args, tuple(kwargs.items()))
        if question not in stack.answers:
            stack.answers[question] = read(stack, *args, **kwargs)
        found: T = stack.answers[question]
        return found

    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A key of a rule's configuration, in JSON schema's words."""

    name: str
    kind: str
    default: Any
    means: str
    of: str = ""
    """Type of a list's items."""
    least: float | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """For the engine, which refuses what does not match."""
        items = {"items": {"type": self.of}} if self.of else {}
        least = {} if self.least is None else {"minimum": self.least}
        return {"type": self.kind, "description": self.means, "default": self.default, **items, **least}


Settings = Mapping[str, Any]
Check = Callable[[Resource, Stack, Settings], Iterator[str]]
Remedy = Callable[[Resource, Settings], Mapping[str, Mapping[str, str]]]
"""Entries to add to mappings among the inputs; empty where nothing is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. ``check`` yields what is wrong with a resource of its kinds, or raises NotCheckedError."""

    name: str
    says: str
    """What must hold, in one sentence."""
    why: str
    fix: str
    severity: Severity
    kinds: tuple[str, ...]
    """Patterns of type tokens."""
    check: Check
    prod: Level = "mandatory"
    dev: Level = "advisory"
    needs_stack: bool = False
    """It looks at other resources, too: it runs when all are known."""
    settings: tuple[Setting, ...] = ()
    tags: tuple[str, ...] = ()
    """Ids of scanners' rules that ask for the same."""
    remedy: Remedy | None = None
    """What the level ``remediate`` does to the inputs before the check."""

    @property
    def url(self) -> str:
        """Its section in the documentation."""
        return f"{DOCS}#{self.name}"

    @property
    def defaults(self) -> dict[str, Any]:
        """Its configuration where none is given."""
        return {each.name: each.default for each in self.settings}

    def covers(self, kind: str) -> bool:
        """Does it look at resources of this type?"""
        return _matches(self.kinds, kind)


@cache
def _matches(patterns: tuple[str, ...], kind: str) -> bool:
    """Asked by each rule for each resource; a stack has some dozen types."""
    return any(fnmatchcase(kind, pattern) for pattern in patterns)


def rule(
    name: str,
    *,
    kinds: tuple[str, ...],
    severity: Severity,
    why: str,
    fix: str,
    prod: Level = "mandatory",
    dev: Level = "advisory",
    needs_stack: bool = False,
    settings: tuple[Setting, ...] = (),
    tags: tuple[str, ...] = (),
    remedy: Remedy | None = None,
) -> Callable[[Check], Rule]:
    """Make a rule of its check; the check's docstring is what must hold."""

    def made(check: Check) -> Rule:
        says = " ".join((check.__doc__ or "").split())
        return Rule(
            name=name,
            says=says,
            why=why,
            fix=fix,
            severity=severity,
            kinds=kinds,
            check=check,
            prod=prod,
            dev=dev,
            needs_stack=needs_stack,
            settings=settings,
            tags=tags,
            remedy=remedy,
        )

    return made
