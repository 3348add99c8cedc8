"""How Google's APIs say no, and how each of them writes an operation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Body = dict[str, Any]

# HTTP status -> Google's name for it.
_STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
_REASON = {400: "invalid", 404: "notFound", 409: "alreadyExists"}
# google.rpc.Code
_EXHAUSTED = 8
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    status: int
    body: Body | None


class RefusalError(Exception):
    """Google says no."""

    def __init__(self, status: int, says: str, reason: str = "", details: Sequence[Body] = ()) -> None:
        super().__init__(says)
        self.status, self.reason, self.details = status, reason or _REASON.get(status, "badRequest"), details

    def answer(self) -> Answer:
        """In the form that all of Google's APIs share: older clients read ``errors``, newer ones ``status``."""
        says = str(self)
        errors = [{"message": says, "domain": "global", "reason": self.reason}]
        word = _STATUS.get(self.status, "UNKNOWN")
        more = {"details": list(self.details)} if self.details else {}
        return Answer(self.status, {"error": {"code": self.status, "message": says, "status": word, "errors": errors, **more}})


def switched_off(service: str, project: str) -> RefusalError:
    """An API that the project has not enabled: the exact reason stands in the details alone."""
    says = f"{service} has not been used in project {project} before or it is disabled."
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com"}
    return RefusalError(403, says, "forbidden", [{**info, "metadata": {"service": service}}])


@dataclass(frozen=True)
class Operation:
    """A change that takes its time: whose, of what, and how it ends."""

    api: str
    kind: str
    """``insert``, ``CREATE_CLUSTER``."""
    base: str
    """Where the API is: ``https://compute.googleapis.com/compute/v1/``."""
    target: str
    response: Body
    error: Mapping[str, str] | None = None
    """``reason`` and ``says``."""

    def as_json(self) -> Body:
        """For the store."""
        return vars(self) | {"error": dict(self.error) if self.error else None}

    def written(self, number: int, *, done: bool) -> Body:
        """As its API writes it."""
        written = {"compute": self._compute, "container": self._container}.get(self.api, self._other)
        return written(f"operation-{number}", done)

    def _compute(self, name: str, done: bool) -> Body:
        place = re.match(r"projects/[^/]+/(global|(region|zone)s/[^/]+)", self.target)
        where = place[0] if place else "projects/-/global"
        body: Body = {
            "kind": "compute#operation",
            "id": name.rpartition("-")[2],
            "name": name,
            "operationType": self.kind,
            "status": "DONE" if done else "RUNNING",
            "progress": 100 if done else 0,
            "targetLink": f"{self.base}{self.target}",
            "selfLink": f"{self.base}{where}/operations/{name}",
            "insertTime": NOW.isoformat(),
        }
        if place and place[2]:
            body[place[2]] = f"{self.base}{where}"
        if done and self.error:
            body |= {"httpErrorStatusCode": 400, "httpErrorMessage": "BAD REQUEST"}
            body["error"] = {"errors": [{"code": self.error["reason"], "message": self.error["says"]}]}
        return body

    def _container(self, name: str, done: bool) -> Body:
        where = "/".join(self.target.split("/")[:4])
        body: Body = {
            "name": name,
            "operationType": self.kind,
            "status": "DONE" if done else "RUNNING",
            "targetLink": f"{self.base}{self.target}",
            "selfLink": f"{self.base}{where}/operations/{name}",
            "startTime": NOW.isoformat(),
        }
        if done and self.error:
            body["error"] = {"code": _EXHAUSTED, "message": f"{self.error['reason']}: {self.error['says']}"}
            body["statusMessage"] = body["error"]["message"]
        return body

    def _other(self, name: str, done: bool) -> Body:
        where = re.match(r"projects/[^/]+/locations/[^/]+/", self.target)
        body: Body = {"name": f"{where[0] if where else ''}operations/{name}", "done": done}
        if done and self.error:
            return {**body, "error": {"code": _EXHAUSTED, "message": f"{self.error['reason']}: {self.error['says']}"}}
        return {**body, "response": self.response} if done else body
