"""Figures for Prometheus: its text format, and the HTTP port where it reads them."""

import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def family(name: str, kind: str, about: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    """One metric with its samples (labels, value). `kind`: gauge | counter."""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value:.15g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def serve(port: int, text: Callable[[], str], problem: Callable[[], str]) -> ThreadingHTTPServer:
    """Serve /metrics and /healthz on all addresses; `problem` says what is wrong, or nothing. `server.shutdown()` ends it."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            status, body = 404, ""
            if self.path == "/metrics":
                status, body = 200, text()
            elif self.path == "/healthz":
                wrong = problem()
                status, body = (503, f"{wrong}\n") if wrong else (200, "ok\n")
            raw = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
            """Silent."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server
