"""A Kubernetes API as a preflight sees it: version, access reviews and nodes, over real HTTP on loopback."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from gpufabric.plan import StackPlan

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NODES = "/api/v1/nodes"
DAEMONSETS = "/apis/apps/v1/daemonsets"
KUEUE = "/apis/kueue.x-k8s.io"
KUEUE_SERVES = ("topologies", "resourceflavors", "clusterqueues", "localqueues", "workloads")
Json = dict[str, Any]


class FakeCluster:
    """Answers what it is told to; ``found``: further objects by path; ``asked`` notes every request with its credentials."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.nodes: list[Json] = []
        self.daemonsets: list[Json] = []
        self.version: Any = {"major": "1", "minor": "34", "gitVersion": "v1.34.1"}
        self.denied: set[str] = set()
        self.found: dict[str, Json] = {}
        self.errors: dict[str, tuple[int, Json]] = {}
        self.asked: list[tuple[str, str, str | None]] = []
        cluster = self

        class Handler(_Handler):
            owner = cluster

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def add_kueue(self) -> None:
        """Install Kueue 0.17, and the namespace of jobs."""
        self.found |= {
            KUEUE: {"versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]},
            f"{KUEUE}/v1beta2": {"resources": [{"name": name} for name in KUEUE_SERVES]},
            "/api/v1/namespaces/default": {},
        }

    def add_groups(self, plan: StackPlan) -> None:
        """All nodes that a plan's groups ask for, whole, and one beside them."""
        images = tuple({group.gate.gate.image for group in plan.groups})
        for group in plan.groups:
            for number in range(group.nodes):
                name = f"{group.name}-{number}"
                labels = {**group.node_selector, "kubernetes.io/hostname": name}
                self.nodes.append(node(name, labels=labels, allocatable=dict(group.profile.fabric.resources), images=images))
        self.nodes.append(node("system", images=images))
        for args in (each.mount_args for role in plan.storage for each in role.groups if each.mount):
            at = f"/api/v1/namespaces/{args.get('namespace')}"
            keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "a2V5")
            self.found |= {at: {}, f"{at}/secrets/{args.get('credentials_secret')}": {"data": keys}}


class _Handler(BaseHTTPRequestHandler):
    owner: FakeCluster

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Json) -> None:
        at = self.path.partition("?")[0]
        self.owner.asked.append((self.command, at, self.headers.get("Authorization")))
        if at in self.owner.errors:
            return self._send(*self.owner.errors[at])
        if at == REVIEWS:
            wanted = body["spec"]["resourceAttributes"]
            part = f"/{wanted['subresource']}" if wanted.get("subresource") else ""
            name = f"{wanted['verb']} {wanted['resource']}{part}"
            return self._send(201, {"status": {"allowed": name not in self.owner.denied}})
        lists = {NODES: {"items": self.owner.nodes}, DAEMONSETS: {"items": self.owner.daemonsets}}
        return self._send(200, {**self.owner.found, "/version": self.owner.version, **lists}[at])

    def _send(self, code: int, body: Any) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Quiet."""


def status(code: int, reason: str, message: str) -> tuple[int, Json]:
    """An error as the API server words it."""
    return code, {"kind": "Status", "code": code, "reason": reason, "message": message}


def node(name: str, pool: str = "", *, ready: bool = True, images: tuple[str, ...] = (), **more: Any) -> Json:
    """A node; ``more``: ``allocatable``, ``taints``, ``unschedulable``, ``labels``."""
    return {
        "metadata": {"name": name, "labels": {**({"pool": pool} if pool else {}), **more.get("labels", {})}},
        "spec": {key: more[key] for key in ("taints", "unschedulable") if key in more},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "allocatable": {"cpu": "8", **more.get("allocatable", {})},
            "images": [{"names": [image]} for image in images],
        },
    }


def kubeconfig(file: Path, server: str, *, cluster: Json | None = None, user: Json | None = None, context: str = "c") -> Path:
    """Write a kubeconfig with one context."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    file.write_text(yaml.safe_dump(config))
    return file
