"""rclone's remote control on a unix socket."""

import http.client
import json
import socket
from typing import Any


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("rclone", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class NoAnswerError(Exception):
    """rclone does not answer, or not with what was asked for."""


def call(path: str, command: str, timeout_s: float = 5.0) -> dict[str, Any]:
    """``call("/run/rc.sock", "vfs/stats")``; raises :class:`NoAnswerError`."""
    connection = _Connection(path, timeout_s)
    try:
        connection.request("POST", f"/{command}", body="{}", headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        raw = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswerError(str(error) or type(error).__name__) from None
    finally:
        connection.close()
    if answer.status != 200 or not isinstance(raw, dict):
        raise NoAnswerError(f"{command}: {answer.status} {raw}")
    return raw
