"""Stands before moto: notes every request and its answer, and answers what moto lacks."""

import io
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tools.awsprovider.lacking import Lacking, refusal
from tools.judge.aws.capture import capture
from tools.judge.aws.model import AwsModel
from tools.judge.request import Request
from tools.judge.shapes import Call, UnknownOperationError

# Stands before the path where a client takes us for its HTTP proxy.
_AUTHORITY = re.compile(r"^http://[^/]+")


@dataclass(frozen=True)
class Exchange:
    """A request and what came back."""

    request: Request
    call: Call | None
    """None where the published API has no such request."""
    status: int
    answer: str

    @property
    def changes(self) -> bool:
        """Was it done, and more than a question? A request that the published API does not have counts as one."""
        return self.status < 300 and not self.asks

    @property
    def asks(self) -> bool:
        """Is it a question, by its name?"""
        return self.call is not None and self.call.operation.startswith(("Describe", "Get", "List", "Head"))


@dataclass
class Recorder:
    """A WSGI application around another one."""

    inner: Callable[..., Iterable[bytes]]
    exchanges: list[Exchange] = field(default_factory=list)
    lacking: Lacking = field(default_factory=Lacking)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def changes(self) -> list[Exchange]:
        """What was asked for and done that was more than a question."""
        return [each for each in self.exchanges if each.changes]

    def forget(self) -> None:
        """Begin a new recording."""
        with self._lock:
            self.exchanges.clear()
            self.lacking.used.clear()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        target = _AUTHORITY.sub("", environ["REQUEST_URI"])
        request = capture(environ["REQUEST_METHOD"], target, _headers(environ), body)
        try:
            call = AwsModel().read(request)
        except UnknownOperationError:
            call = None
        given = self.lacking.answer(call) if call else None
        if given is None:
            try:
                status, headers, content = self._ask(environ)
            except Exception as error:  # noqa: BLE001 - whatever breaks in moto is moto's
                # Not a 500, which AWS's SDKs would try again for minutes.
                given = refusal(call, 400, "NotInMoto", f"{call}: {error!r}; see tools/awsprovider/gaps.toml")
        if given:
            status, headers, content = (
                f"{given.status} {HTTPStatus(given.status).phrase}",
                [("Content-Type", given.kind)],
                given.body,
            )
        else:
            content = self.lacking.complete(call, content) if call and status.startswith("2") else content
        if environ["REQUEST_METHOD"] != "HEAD":
            headers = [each for each in headers if each[0].lower() != "content-length"] + [
                ("Content-Length", str(len(content)))
            ]
        with self._lock:
            self.exchanges.append(Exchange(request, call, int(status.split()[0]), content.decode("utf-8", errors="replace")))
        start_response(status, headers)
        return [content]

    def _ask(self, environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
        told: list[Any] = []

        def note(status: str, headers: list[tuple[str, str]], _: Any = None) -> Callable[[bytes], None]:
            told[:] = [status, headers]
            return lambda _: None

        answer = self.inner(environ, note)
        content = b"".join(answer)
        if hasattr(answer, "close"):
            answer.close()
        return told[0], told[1], content


def _headers(environ: dict[str, Any]) -> dict[str, str]:
    plain = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    return {**plain, "content-type": environ.get("CONTENT_TYPE", "")}
