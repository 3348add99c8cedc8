"""A server of a tool, in a thread of its own for as long as a block lasts."""

import threading
from http.server import HTTPServer
from types import TracebackType
from typing import Self


class Serving:
    """A context: ``_server`` answers from enter to exit."""

    _server: HTTPServer
    _thread: threading.Thread

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
