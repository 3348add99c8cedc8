"""One preflight as a list of questions: all findings in one report, and what has no answer is counted, never passed over."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gpufabric.spec import Problem, SpecError

T = TypeVar("T")
LISTED = "docs/preflight.md has the list"


class UnansweredError(Exception):
    """A question that has no answer, so that what it asks is not checked. ``reason`` and ``fix`` as of a Problem."""

    def __init__(self, reason: str, fix: str) -> None:
        self.reason, self.fix = reason, fix
        super().__init__(f"{reason}; {fix}")


class Questions:
    """Asks one question after the other. Each has a name, which stands in the report where there is no answer."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._unanswered: dict[tuple[str, str], list[str]] = {}
        self._asked = 0

    def ask(self, about: str, question: Callable[[], Iterable[Problem]]) -> None:
        """Note what is wrong with ``about``, up to where there is no answer."""

        def note() -> None:
            for problem in question():
                self._problems.append(problem)  # one by one: what is found before a question breaks off stays found

        self.value(about, note)

    def value(self, about: str, question: Callable[[], T]) -> T | None:
        """An answer that other questions need; None where there is none."""
        self._asked += 1
        try:
            return question()
        except UnansweredError as error:
            self._unanswered.setdefault((error.reason, error.fix), []).append(about)
        return None

    def report(self) -> None:
        """Raise :class:`SpecError` where something is wrong, or is not known to be right."""
        if problems := [*self._problems, *self._open()]:
            raise SpecError(problems)

    def _open(self) -> Iterator[Problem]:
        """What is not checked: one line for each reason, and how many they are."""
        for (reason, fix), names in self._unanswered.items():
            yield Problem("", f"not checked: {', '.join(names)} ({reason})", fix)
        if count := sum(map(len, self._unanswered.values())):
            yield Problem("", f"{count} of {self._asked} questions have no answer: `pulumi up` may still fail there")


def not_allowed(permission: str) -> UnansweredError:
    """The caller may not ask this. ``permission``: the cloud's own word for what is missing."""
    return UnansweredError(f"these credentials may not {permission}", f"ask for it; {LISTED}")


def on_path(program: str, fix: str) -> Iterator[Problem]:
    """A program that the cluster's kubeconfig asks for tokens."""
    if shutil.which(program) is None:
        yield Problem("", f"no program `{program}` on PATH: the cluster's kubeconfig asks it for tokens", fix)
