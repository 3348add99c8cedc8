"""Property trees as the engine shows them: reading what may be absent, not known yet, secret, or of another type."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


class NotCheckedError(Exception):
    """Something that a rule needs cannot be read; the message says what, and why."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that the program marked as secret. Rules may look at it and never repeat it."""

    value: Any


class Unknown:
    """The value will be known when the update runs."""

    __slots__ = ()


UNKNOWN: Final = Unknown()


class Node:
    """One place of a tree. Reading what is not known, or has another type than the resource's schema, raises."""

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, parent: "Node | None" = None, key: str | int = "") -> None:
        self.value = value.value if isinstance(value, Secret) else value
        self._parent, self._key = parent, key

    @property
    def path(self) -> str:
        """Where it is: ``networkInterfaces[0].deviceIndex``. Put together when it is asked for: a tree has thousands."""
        above = self._parent.path if self._parent is not None else ""
        if isinstance(self._key, int):
            return f"{above}[{self._key}]"
        return f"{above}.{self._key}" if above and self._key else above or self._key

    def __getitem__(self, key: str) -> "Node":
        """The place below; absent below what is absent."""
        found = self.value
        if found is not None and not isinstance(found, dict):
            found = self._typed(dict, "a mapping")
        return Node(None if found is None else found.get(key), self, key)

    def at(self, path: str) -> "Node":
        """The place at a dotted path."""
        found = self
        for key in path.split("."):
            found = found[key]
        return found

    @property
    def present(self) -> bool:
        """Is something there, known or not? An empty mapping, list or text is nothing."""
        return self.value is not None and self.value not in ({}, [], "")

    @property
    def unknown(self) -> bool:
        """Is there something that is not known yet?"""
        return self.value is UNKNOWN

    def text(self) -> str:
        """A text, "" where none is."""
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        found = self._typed(str, "a text")
        return found or ""

    def number(self) -> float | None:
        """A number, also one that is written as text; None where none is."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return self.value
        text = self.text()
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            raise NotCheckedError(f"{self.path} is no number") from None

    def whole(self, absent: int = 0) -> int:
        """A whole number."""
        found = self.number()
        if found is None:
            return absent
        try:
            return int(found)
        except (OverflowError, ValueError):
            raise NotCheckedError(f"{self.path} is no number") from None

    def flag(self) -> bool:
        """True or "true"; False where nothing is."""
        return self.value if isinstance(self.value, bool) else self.text().lower() == "true"

    def items(self) -> "list[Node]":
        """The places of a list; a single mapping or text is a list of one, as the providers take it."""
        if isinstance(self.value, dict | str):
            return [self] if self.value else []
        found = self._typed(list, "a list") or []
        return [Node(each, self, number) for number, each in enumerate(found)]

    def texts(self) -> list[str]:
        """A list of texts."""
        return [each.text() for each in self.items()]

    def entries(self) -> "Iterator[tuple[str, Node]]":
        """Key and place of each entry of a mapping."""
        for key in self._typed(dict, "a mapping") or {}:
            yield key, self[key]

    def _typed(self, kind: type, what: str) -> Any:
        if self.value is UNKNOWN:
            raise NotCheckedError(f"{self.path or 'the whole'} is not known before the update")
        if self.value is not None and not isinstance(self.value, kind):
            raise NotCheckedError(f"{self.path or 'the whole'} is not {what}")
        return self.value
