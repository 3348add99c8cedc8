"""The stand-in on a port of this machine's loopback, and what it was asked."""

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from tools.googleapi.account import Account
from tools.googleapi.store import Store
from tools.judge.google.model import GoogleCall
from tools.judge.request import Request
from tools.serving import Serving


@dataclass(frozen=True)
class Exchange:
    """A request, how it was understood (None: no such method is published), and what came back."""

    request: Request
    call: GoogleCall | None
    status: int
    answer: Any

    @property
    def changes(self) -> bool:
        """Was it done, and more than a question?"""
        asks = self.request.method == "GET" or (
            self.call is not None and self.call.method.name.startswith(("get", "list", "test"))
        )
        return self.status < 300 and not asks


@dataclass
class GoogleApis(Serving):
    """A context: serves from enter to exit. The account lies in ``file``; another run goes on with it."""

    file: Path
    project: str
    exchanges: list[Exchange] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        store = Store(self.file)
        store.create()
        self.account = Account(store, self.project)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.apis = self

    @property
    def url(self) -> str:
        """An API's own host name comes first in the path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def changes(self) -> list[Exchange]:
        """What was asked for and done that was more than a question."""
        return [each for each in self.exchanges if each.changes]

    def exchange(self, request: Request) -> Exchange:
        """Answer a request and note it."""
        answer, call = self.account.answer(request)
        made = Exchange(request, call, answer.status, answer.body)
        with self._lock:
            self.exchanges.append(made)
        return made


def understood(method: str, target: str, body: bytes, account: Account) -> Request:
    """A request off the wire. Some APIs call the project by its number; here it has one name."""
    path, _, query = target.partition("?")
    host, _, rest = unquote(path).strip("/").partition("/")
    asked: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        asked.setdefault(name, []).append(_named(value, account))
    kept: dict[str, str | list[str]] = {name: values[0] if len(values) == 1 else values for name, values in asked.items()}
    written = _named(body.decode("utf-8"), account)
    plain = _named(rest, account).replace("projects/-/serviceAccounts", f"projects/{account.project}/serviceAccounts")
    return Request(host.partition(".")[0], method, f"/{plain}", kept, json=json.loads(written) if written else None)


def _named(text: str, account: Account) -> str:
    """The project by its one name; but not in a principal, which is kept as it was written: the provider looks for it again."""
    return re.sub(rf"(?<!//iam\.googleapis\.com/)projects/{account.number}\b", f"projects/{account.project}", text)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    apis: GoogleApis


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """A line per request helps nobody: the exchanges are noted."""

    def _answer(self) -> None:
        apis = self.server.apis  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        made = apis.exchange(understood(self.command, self.path, body, apis.account))
        content = b"" if made.answer is None else json.dumps(made.answer).encode()
        self.send_response(made.status if content else 204)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the base class's names

    def do_CONNECT(self) -> None:
        """Whatever an SDK wants of the world outside stays here."""
        self.send_error(403)
