"""Problems of a spec: each says where, what is wrong, what to write instead, and whose rule it is."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Self

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_MOST_LETTERS = 80


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One line for the user. ``path`` is the config path; ``rule`` names the cloud or document when the rule is not ours."""

    path: str
    reason: str
    fix: str = ""
    rule: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        fix = f"; {self.fix}" if self.fix else ""
        rule = f" ({self.rule})" if self.rule else ""
        return f"{where}{self.reason}{fix}{rule}"

    def below(self, prefix: str) -> Self:
        """The same problem seen from further out: ``nodes`` below ``node_groups[0]`` is ``node_groups[0].nodes``."""
        dot = "." if self.path and prefix and not self.path.startswith("[") else ""
        return replace(self, path=f"{prefix}{dot}{self.path}")


class SpecError(ValueError):
    """A wish cannot be granted. All problems that were found, reported together; nothing has been created."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(map(str, self.problems)))

    def below(self, prefix: str) -> "SpecError":
        """The same problems seen from further out."""
        return SpecError(problem.below(prefix) for problem in self.problems)


def dotted(path: str, loc: Iterable[object]) -> str:
    """``("node_groups", 0, "nodes")`` below ``path`` as ``node_groups[0].nodes``; keys that are no words as ``["a b"]``."""
    for part in loc:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            path = f"{path}.{part}" if path else part
        else:
            path = f"{path}[{_cut(json.dumps(part)) if isinstance(part, str) else shown(part)}]"
    return path


def shown(value: object) -> str:
    """A value as the user wrote it in YAML, on one line and not longer than a line; never the insides of an object."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() if value.bit_length() > 256:
            return f"a number of over {int(value.bit_length() * 0.3)} digits"
        case int() | float():
            return str(value)
        case str():
            return _cut(repr(value))
        case date():
            return f"the date {value.isoformat()}"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
    return f"a Python object of type {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 4]}...{text[-1]}"
