"""What the walker needs to know of a published API: the few words every vendor's model can be put into."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tools.judge.request import Request

Kind = Literal["structure", "list", "map", "string", "integer", "float", "boolean", "timestamp", "blob", "document"]


class Shape(Protocol):
    """The shape of one value. Shapes may contain themselves, hence methods and not a tree."""

    name: str
    kind: Kind
    required: frozenset[str]
    """Members that must be there (structure)."""
    union: bool
    """Exactly one member must be there (structure)."""
    enum: frozenset[str]
    """The only values (string); empty where the model names none."""
    pattern: str
    """The whole text must match (string); empty where the model has none."""
    minimum: float | None
    """Least value of a number, length of a text or blob, count of a list or map."""
    maximum: float | None

    def members(self) -> Mapping[str, "Shape"]:
        """By name (structure)."""
        ...

    def element(self) -> "Shape":
        """Of a list, or the values of a map."""
        ...

    def key(self) -> "Shape":
        """The keys of a map."""
        ...


@dataclass(frozen=True)
class Call:
    """A request as its model reads it. ``members`` is what stood on the wire, unknown names included: plain dicts and lists,
    and in the leaves the Python type of the shape's kind, or whatever stood there if it is not of that kind."""

    service: str
    operation: str
    members: Mapping[str, Any]
    shape: Shape

    def __str__(self) -> str:
        return f"{self.service} {self.operation}"


class UnknownOperationError(Exception):
    """The published model has no such request."""


class Model(Protocol):
    """One vendor's published API."""

    def read(self, request: Request) -> Call:
        """What the request means; raises ``UnknownOperationError``."""
        ...
