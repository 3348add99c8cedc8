"""A forge on the loopback: comments of GitHub's and of GitLab's REST API, with their pages, tokens and refusals."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

TOKEN: Final = "t0ken-of-the-test"
_ROUTES: Final = (
    (r"/repos/acme/train/issues/(?P<number>\d+)/comments", r"/repos/acme/train/issues/comments/(?P<id>\d+)", "PATCH"),
    (r"/projects/42/merge_requests/(?P<number>\d+)/notes", r"/projects/42/merge_requests/\d+/notes/(?P<id>\d+)", "PUT"),
)


@dataclass
class Forge:
    """What it holds, and what it was asked."""

    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    troubles: list[int] = field(default_factory=list)
    """Codes with which the next calls are refused."""
    others: set[int] = field(default_factory=set)
    """Comments that the token may not change."""

    def add(self, body: str, *, other: bool = False) -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "number": "7"})
        self.others |= {len(self.comments)} if other else set()

    def bodies(self, number: str = "7") -> list[str]:
        return [each["body"] for each in self.comments if each["number"] == number]

    def github(self) -> dict[str, str]:
        return {"GITHUB_API_URL": self.address, "GITHUB_REPOSITORY": "acme/train", "GITHUB_TOKEN": TOKEN}

    def gitlab(self) -> dict[str, str]:
        request = {"CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7"}
        return {"CI_API_V4_URL": self.address, "GITLAB_TOKEN": TOKEN, **request}


class _Handler(BaseHTTPRequestHandler):
    forge: Forge

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def _answer(self, method: str) -> None:
        asked = urlsplit(self.path)
        text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.forge.calls.append((method, asked.path))
        code, found = self._decide(method, asked.path, parse_qs(asked.query), text)
        body = json.dumps(found).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _decide(self, method: str, path: str, query: dict[str, list[str]], text: bytes) -> tuple[int, Any]:
        forge = self.forge
        if forge.troubles:
            return forge.troubles.pop(0), {"message": "trouble"}
        for github, (listing, single, edit) in zip((True, False), _ROUTES, strict=True):
            token = self.headers.get("Authorization") if github else self.headers.get("PRIVATE-TOKEN")
            here, one = re.fullmatch(listing, path), re.fullmatch(single, path)
            if here or one:
                if token != (f"Bearer {TOKEN}" if github else TOKEN):
                    return 401, {"message": "Bad credentials"}
                if here and here["number"] not in ("7", "8"):
                    return 404, {"message": "Not Found"}
                if here and method == "GET":
                    size, page = int(query["per_page"][0]), int(query["page"][0])
                    all_of_it = [each for each in forge.comments if each["number"] == here["number"]]
                    return 200, all_of_it[(page - 1) * size : page * size]
                body = json.loads(text)["body"]
                if here and method == "POST":
                    forge.comments.append({"id": len(forge.comments) + 1, "body": body, "number": here["number"]})
                    return 201, forge.comments[-1]
                if not here and one and method == edit:
                    if int(one["id"]) in forge.others:
                        return 403, {"message": "Resource not accessible"}
                    forge.comments[int(one["id"]) - 1]["body"] = body
                    return 200, forge.comments[int(one["id"]) - 1]
        return 405, {"message": f"{method} {path}"}


@contextmanager
def running() -> Iterator[Forge]:
    """A forge until the block ends."""
    forge = Forge()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"forge": forge}))
    forge.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
