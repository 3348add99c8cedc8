"""Problems of a spec: each says where, what is wrong, what to write instead, and whose rule it is."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One line for the user. ``path`` is the config path; ``rule`` names the cloud or document when the rule is not ours."""

    path: str
    reason: str
    fix: str = ""
    rule: str = ""

    def __str__(self) -> str:
        fix = f"; {self.fix}" if self.fix else ""
        rule = f" ({self.rule})" if self.rule else ""
        return f"{self.path}: {self.reason}{fix}{rule}"


class SpecError(ValueError):
    """A wish cannot be granted. All problems that were found, reported together; nothing has been created."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(map(str, self.problems)))
