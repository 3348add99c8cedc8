"""The public half of rank 0's key on its way to the other nodes: served by one judge, fetched and checked by the others."""

import re
import socket
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

_KEY: Final = re.compile(r"(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-[a-z0-9-]+) [A-Za-z0-9+/]{60,}={0,3}(?: [\x20-\x7e]*)?")
_MAX_KEY_BYTES: Final = 8192
_RETRY_SECONDS: Final = 0.5


class KeyUnusableError(Exception):
    """No public key came, or what came is none; the text says why."""


def public_key(text: str) -> str:
    """The one public key line in the text. Raises KeyUnusableError for anything else: it goes into authorized_keys."""
    line = text.strip("\r\n")
    if len(text) > _MAX_KEY_BYTES or not _KEY.fullmatch(line):
        raise KeyUnusableError("what was served as the public key is not one public key line")
    return line


class KeyServer(ThreadingHTTPServer):
    """Serves the public key file and nothing else: 503 until it is there, 404 for other paths."""

    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, key_file: Path) -> None:
        self.key_file = key_file
        super().__init__(("", port), _KeyHandler)

    def server_bind(self) -> None:
        """Both address families on one socket: clusters may be IPv4, IPv6 or both."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


class _KeyHandler(BaseHTTPRequestHandler):
    timeout = 10
    server: KeyServer

    def do_GET(self) -> None:
        status, body = 404, b""
        if self.path == "/key":
            try:
                status, body = 200, self.server.key_file.read_bytes()
            except OSError:
                status = 503
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
        """Silent: the log is the benchmark's output."""


def fetch_key(url: str, deadline_s: float) -> str:
    """Ask until it is served. Raises KeyUnusableError with the last error after the deadline."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy from the environment is not for peers
    end, last = time.monotonic() + deadline_s, ""
    while True:
        try:
            with opener.open(url, timeout=5) as answer:
                text: str = answer.read(_MAX_KEY_BYTES + 1).decode("ascii", "replace")
            return public_key(text)
        except (OSError, ValueError, KeyUnusableError) as error:
            last = str(error)
        if time.monotonic() >= end:
            raise KeyUnusableError(f"no public key from {url} within {deadline_s:g} s: {last}")
        time.sleep(min(_RETRY_SECONDS, max(0.0, end - time.monotonic())))
