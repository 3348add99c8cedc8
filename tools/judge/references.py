"""Do the things exist that a record's requests refer to: made by an earlier request of it, or named as existing?"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tools.judge.request import Record, Request
from tools.judge.shapes import Call, Model, UnknownOperationError
from tools.judge.walker import Finding, walk


class Thing(NamedTuple):
    """A kind (``subnet``, ``role``) and the id or name under which requests refer to it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Book(Protocol):
    """What one vendor's requests make and refer to."""

    def makes(self, call: Call, request: Request) -> set[Thing]:
        """Things that exist once the request was answered."""
        ...

    def refers(self, call: Call) -> Iterator[tuple[str, Thing]]:
        """Things that must exist before it, each with where it is named. A thing of the kind ``any`` may be of any kind."""
        ...

    def things(self, names: tuple[str, ...]) -> set[Thing]:
        """Ids as things, for what a sample names as existing."""
        ...


def judge(record: Record, model: Model, book: Book) -> Iterator[Finding]:
    """Everything in a record that the published API does not allow, request by request."""
    known = book.things(record.existing)
    for request in record.requests:
        try:
            call = model.read(request)
        except UnknownOperationError as error:
            yield Finding("unknown", request.service, str(error))
            continue
        yield from walk(call)
        for where, thing in book.refers(call):
            if thing not in known and not (thing.kind == "any" and any(thing.name == each.name for each in known)):
                yield Finding("reference", where, f"no request before this one makes the {thing}")
        known |= book.makes(call, request)
