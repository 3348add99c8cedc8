"""One project of Google's: what a request does to it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.googleapi import troubles
from tools.googleapi.forms import Answer, Operation, RefusalError, switched_off
from tools.googleapi.rules import check
from tools.googleapi.special import SPECIAL, is_off
from tools.googleapi.store import Body, Ledger, Store
from tools.googleapi.things import base_of, completed, merged
from tools.googleapi.turn import Turn
from tools.judge.google.documents import document
from tools.judge.google.model import GoogleCall, GoogleModel
from tools.judge.google.references import GoogleBook, is_given, made_by, named_in, nested, path_of, thing_of
from tools.judge.request import Request
from tools.judge.shapes import UnknownOperationError
from tools.judge.walker import walk

_KINDS = {"create": "CREATE", "insert": "insert", "delete": "delete", "patch": "patch", "update": "update"}


@dataclass
class Account:
    """Answers requests; what it holds lies in the store."""

    store: Store
    project: str
    number: str = "123456789012"
    """Google's number of the project, by which some APIs call it."""
    model: GoogleModel = field(default_factory=GoogleModel)
    book: GoogleBook = field(default_factory=GoogleBook)

    def answer(self, request: Request) -> tuple[Answer, GoogleCall | None]:
        """What Google would say, and how the request was understood."""
        call = None
        try:
            call = self.model.read(request)
            with self.store.transaction() as ledger:
                answer = self._done(ledger, request, call)
        except UnknownOperationError as error:
            answer = RefusalError(404, str(error)).answer()
        except RefusalError as error:
            answer = error.answer()
        return answer, call

    def hold(self, path: str, api: str = "compute", **body: Any) -> None:
        """Something that was there before the program came."""
        with self.store.transaction() as ledger:
            ledger.put(api, path, completed(api, path, {"name": path.rpartition("/")[2], **body}, number=0))

    def trouble(self, wish: troubles.Trouble) -> None:
        """Let something go wrong from now on."""
        with self.store.transaction() as ledger:
            troubles.wish(ledger, wish)

    def paths(self) -> list[str]:
        """Everything that it holds, oldest first."""
        with self.store.transaction() as ledger:
            return [each.path for each in ledger.below("")]

    def _done(self, ledger: Ledger, request: Request, call: GoogleCall) -> Answer:
        wrong = [str(each) for each in walk(call)]
        if wrong:
            raise RefusalError(400, f"Invalid value for field: {'; '.join(wrong)}")
        api = f"{call.service}.googleapis.com"
        if is_off(ledger, f"projects/{self.project}/services/{api}"):
            raise switched_off(api, self.project)
        trouble = troubles.due(ledger, str(call))
        if trouble and trouble.status:
            refusal = RefusalError(trouble.status, trouble.says, trouble.reason).answer()
            ledger.connection.execute("commit")  # that this one is used up
            return refusal
        if path_of(call).split("/")[-2:-1] == ["operations"]:
            return self._polled(ledger, call)
        self._must_exist(ledger, call)
        turn = Turn(ledger, self, call, request.json or {})
        check(turn)
        special = SPECIAL.get(str(call))
        if special:
            target, body = special(turn)
        else:
            target, body = self._plain(call)(ledger, request, call)
        if call.method.answer != "Operation":
            return Answer(200, body)
        failed = {"reason": trouble.reason, "says": trouble.says} if trouble else None
        if trouble and call.method.name in ("insert", "create"):
            self._undo(ledger, target, trouble.leaves)
        kind = _KINDS.get(call.method.name, call.method.name)
        response = {"@type": f"type.googleapis.com/{call.service}", **(body or {})}
        operation = Operation(call.service, kind, base_of(call.service, request.path), target, response, failed)
        number = ledger.start(operation.as_json())
        return Answer(200, operation.written(number, done=False))

    def _undo(self, ledger: Ledger, target: str, leaves: str) -> None:
        found = ledger.find(target)
        if found and leaves:
            ledger.put(found.api, target, {**found.body, "status": leaves})
        elif found:
            ledger.remove(target)

    def _plain(self, call: GoogleCall) -> Callable[[Ledger, Request, GoogleCall], tuple[str, Body | None]]:
        """What most methods do, by their names."""
        handlers: Mapping[str, Callable[[Ledger, Request, GoogleCall], tuple[str, Body | None]]] = {
            "insert": self._create,
            "create": self._create,
            "get": self._get,
            "getServerConfig": self._get,
            "list": self._list,
            "patch": self._change,
            "update": self._change,
            "delete": self._delete,
        }
        if call.method.name not in handlers:
            raise RefusalError(501, f"the stand-in does not know {call}; see tools/googleapi/special.py")
        return handlers[call.method.name]

    def _must_exist(self, ledger: Ledger, call: GoogleCall) -> None:
        for where, thing in self.book.refers(call):
            if thing != thing_of(thing.name):
                raise RefusalError(400, f"'{thing.name}' is no {thing.kind} ({where})")
            if ledger.find(thing.name) is None and not _is_part(ledger, thing.name):
                status = 404 if where.endswith(" path") else 400
                raise RefusalError(status, f"The resource '{thing.name}' was not found ({where})", "notFound")

    def _polled(self, ledger: Ledger, call: GoogleCall) -> Answer:
        number = path_of(call).rpartition("-")[2]
        found = ledger.poll(int(number)) if number.isdigit() else None
        if found is None:
            raise RefusalError(404, f"no operation {path_of(call)}")
        done, told = found
        return Answer(200, Operation(**told).written(int(number), done=done))

    def _create(self, ledger: Ledger, request: Request, call: GoogleCall) -> tuple[str, Body | None]:
        path, *parts = made_by(call)
        if ledger.find(path):
            raise RefusalError(409, f"The resource '{path}' already exists")
        body = dict(request.json or {})
        made = ledger.put(call.service, path, {**body})
        whole = completed(call.service, path, body, number=made.number)
        ledger.put(call.service, path, whole)
        for part in parts:
            ledger.put(call.service, part, {})
        self.note_names(ledger, path, call)
        return path, whole

    def note_names(self, ledger: Ledger, path: str, call: GoogleCall) -> None:
        """What a thing names from now on keeps that from being deleted."""
        named = {each for _, found in named_in(call) for each in nested(found) if not is_given(each)}
        ledger.note_names(path, named - {path})

    def _get(self, ledger: Ledger, _: Request, call: GoogleCall) -> tuple[str, Body | None]:
        path = path_of(call)
        found = ledger.find(path)
        if found is None:
            raise RefusalError(404, f"The resource '{path}' was not found")
        return path, found.body

    def _list(self, ledger: Ledger, request: Request, call: GoogleCall) -> tuple[str, Body | None]:
        path = path_of(call)
        found = [each.body for each in ledger.below(f"{path}/") if "/" not in each.path[len(path) + 1 :]]
        properties = document(call.service, request.path).schemas[call.method.answer]["properties"]
        name = next(key for key, each in properties.items() if each.get("type") == "array" and "$ref" in each["items"])
        return path, {name: found} if found else {}

    def _change(self, ledger: Ledger, request: Request, call: GoogleCall) -> tuple[str, Body | None]:
        path = path_of(call)
        found = ledger.find(path)
        assert found is not None  # noqa: S101 - looked for before
        new = dict(request.json or {})
        body = merged(found.body, new) if request.method == "PATCH" else {**found.body, **new}
        whole = completed(call.service, path, body, number=found.number)
        ledger.put(call.service, path, whole)
        self._note_again(ledger, request, call, path, whole)
        return path, whole

    def _note_again(self, ledger: Ledger, request: Request, call: GoogleCall, path: str, body: Body) -> None:
        """By the request that would make the thing as it is now."""
        again = Request(request.service, "POST", request.path.rpartition("/")[0], json=json.loads(json.dumps(body)))
        try:
            self.note_names(ledger, path, self.model.read(again))
        except UnknownOperationError:
            self.note_names(ledger, path, call)

    def _delete(self, ledger: Ledger, _: Request, call: GoogleCall) -> tuple[str, Body | None]:
        path = path_of(call)
        found = ledger.find(path)
        assert found is not None  # noqa: S101 - looked for before
        users = ledger.users(path)
        if users:
            says = f"The resource '{path}' is already being used by '{users[0]}'"
            raise RefusalError(400, says, "resourceInUseByAnotherResource")
        ledger.remove(path)
        return path, found.body if call.method.answer not in ("", "Operation") else None


def _is_part(ledger: Ledger, path: str) -> bool:
    """What lies in a thing's body without being a thing itself: `b/NAME/iam`, an empty list of a cluster."""
    return path.rpartition("/")[2] == "iam" and ledger.find(path.rpartition("/")[0]) is not None
