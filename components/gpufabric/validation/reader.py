"""Reads plain JSON values by name and type, and collects every problem instead of stopping at the first."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

_WORDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    bool: "true or false",
}


class Reader:
    """Takes values out of objects; what is wrong is added to `problems` as `path: problem` and a neutral value returned."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def text(self, raw: Mapping[str, Any], key: str, at: str) -> str:
        value = self.take(raw, key, str, at)
        if value == "":
            self.problems.append(f"{at}{key}: must not be empty")
        return str(value or "")

    def number(self, raw: Mapping[str, Any], key: str, at: str, least: int = 1) -> int:
        value = self.take(raw, key, int, at)
        if value is not None and value < least:
            self.problems.append(f"{at}{key}: {value} must be at least {least}")
        return int(value or 0)

    def real(self, raw: Mapping[str, Any], key: str, at: str, *, optional: bool = False) -> float | None:
        value = raw.get(key)
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            self.problems.append(f"{at}{key}: {value!r} must be a number above 0 (GB/s)")
            return None
        return float(value)

    def texts(self, raw: Mapping[str, Any], key: str, names: Iterable[str]) -> dict[str, str]:
        part = self.take(raw, key, dict, "") or {}
        return {name: self.text(part, name, f"{key}.") for name in names}

    def numbers(self, raw: Mapping[str, Any], key: str, names: Iterable[str]) -> dict[str, int]:
        part = self.take(raw, key, dict, "") or {}
        return {name: self.number(part, name, f"{key}.") for name in names}

    def take(self, raw: Mapping[str, Any], key: str, kind: type, at: str) -> Any:
        value = raw.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.problems.append(f"{at}{key}: {'missing' if key not in raw else f'{value!r} is not {_WORDS[kind]}'}")
            return None
        return value
