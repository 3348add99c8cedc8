"""Requests in an order that does not depend on which one an engine happened to send first."""

import json
from collections.abc import Callable, Iterable, Sequence

from tools.judge.references import Book
from tools.judge.request import Request
from tools.judge.shapes import Model, UnknownOperationError


def in_order(
    requests: Sequence[Request], model: Model, book: Book, ids: Callable[[str], Iterable[str]] = lambda _: ()
) -> list[Request]:
    """By how deep a request's needs go, then by its text. ``ids`` finds in a text what earlier answers gave."""
    made_by: dict[str, int] = {}
    levels: list[int] = []
    for request in requests:
        needs = {levels[made_by[name]] for name in ids(json.dumps(request.as_json())) if name in made_by}
        makes = set(request.gives)
        try:
            call = model.read(request)
        except UnknownOperationError:
            pass
        else:
            needs |= {levels[made_by[str(thing)]] for _, thing in book.refers(call) if str(thing) in made_by}
            makes |= {str(thing) for thing in book.makes(call, request)}
        levels.append(1 + max(needs, default=-1))
        for thing in makes:
            made_by.setdefault(thing, len(levels) - 1)
    order = sorted(
        range(len(requests)), key=lambda n: (levels[n], requests[n].service, json.dumps(requests[n].as_json(), sort_keys=True))
    )
    return [requests[number] for number in order]
