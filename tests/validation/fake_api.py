"""A small Kubernetes API server in this process: real HTTP on loopback, objects in a dict, a script instead of kubelets.

It knows what the gate's client uses: get, list by label, create, merge patch, JSON patch, server-side apply (as a merge),
delete, eviction, pod logs, and the server's own wording for refusals. `stages` play one by one, each when the rank pods are
listed; after the last one `kubelet` is called each time.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
NAMESPACE = "gpufabric-local-train"
JOB_LABEL = "batch.kubernetes.io/job-name"
ALL_PODS = "/api/v1/pods"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
RANK_LABELS = {
    "app.kubernetes.io/name": "gpufabric-gate",
    "app.kubernetes.io/component": "ranks",
    "gpufabric.dev/group": "train",
}


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    content_type: str
    body: Any


class Cluster:
    """The server's objects by path, and what the test wants to happen."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.logs: dict[str, str] = {}
        self.requests: list[Request] = []
        self.forbidden: set[tuple[str, str]] = set()
        self.failures: list[tuple[int, str]] = []
        self.refuse_jobs = ""
        self.keep_pods = False
        self.budgets: dict[str, str] = {}
        self.at_patch: Callable[[Cluster, str], None] = lambda _cluster, _path: None
        self.stages: list[Callable[[Cluster], None]] = []
        self.kubelet: Callable[[Cluster], None] | None = None
        self.lock = threading.RLock()
        self.uid = 0
        cluster = self

        class Handler(_Handler):
            owner = cluster

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def put(self, path: str, body: Json) -> None:
        with self.lock:
            self.uid += 1
            body.setdefault("metadata", {}).setdefault("uid", f"uid-{self.uid}")
            body["metadata"].setdefault("name", path.rsplit("/", 1)[-1])
            self.objects[path] = body

    def node(self, name: str, *, ready: bool = True, boot_id: str = "boot-1", labels: Json | None = None) -> None:
        condition = {
            "type": "Ready",
            "status": "True" if ready else "Unknown",
            "reason": "KubeletReady" if ready else "NodeStatusUnknown",
        }
        self.put(
            f"/api/v1/nodes/{name}",
            {
                "metadata": {"labels": {"pool": "train", **(labels or {})}},
                "status": {"conditions": [condition], "nodeInfo": {"bootID": boot_id}},
            },
        )

    def pod(
        self,
        index: int,
        node: str = "",
        *,
        job: str = "train-ranks",
        rank: Json | None = None,
        judge: Json | None = None,
        **status: Any,
    ) -> None:
        """A rank pod. `rank`, `judge`: container states as the API gives them; None = nothing known yet."""
        states = [
            {"name": name, "image": "", "state": state}
            for name, state in (("rank", rank), ("judge", judge))
            if state is not None
        ]
        name = f"{job}-{index}-abcde"
        self.put(
            f"/api/v1/namespaces/{NAMESPACE}/pods/{name}",
            {
                "metadata": {"namespace": NAMESPACE, "labels": {JOB_LABEL: job, INDEX_LABEL: str(index), **RANK_LABELS}},
                "spec": {"nodeName": node, "containers": [{"name": "rank", "image": "registry.local/gate:1"}]},
                "status": {"phase": "Running" if node else "Pending", "containerStatuses": states, **status},
            },
        )

    def tenant(self, name: str, node: str, *, controller: str = "ReplicaSet", **spec: Any) -> str:
        """A user's pod on a node; its path. `controller` empty: nobody would start it again."""
        at = f"/api/v1/namespaces/default/pods/{name}"
        owners = [{"kind": controller, "name": "x", "controller": True}] if controller else []
        self.put(at, {"metadata": {"namespace": "default", "ownerReferences": owners}, "spec": {"nodeName": node, **spec}})
        return at

    def taints(self, name: str) -> list[Json]:
        """The taints of a node."""
        found: list[Json] = self.objects[f"/api/v1/nodes/{name}"].get("spec", {}).get("taints", [])
        return found

    def marks(self, name: str) -> tuple[str | None, Json | None]:
        """The validated label and the annotation of a node."""
        meta = self.objects[f"/api/v1/nodes/{name}"]["metadata"]
        text = meta.get("annotations", {}).get("gpufabric.dev/validation")
        return meta["labels"].get("gpufabric.dev/validated"), json.loads(text) if text else None

    def asked(self, method: str, part: str) -> list[Request]:
        return [request for request in self.requests if request.method == method and part in request.path]

    def events(self) -> list[str]:
        return [request.body["message"] for request in self.asked("POST", "/events")]

    def verdict(self) -> Json:
        data = self.objects[f"/api/v1/namespaces/{NAMESPACE}/configmaps/train-verdict"]["data"]
        found: Json = json.loads(data["verdict.json"])
        return found


class _Handler(BaseHTTPRequestHandler):
    owner: Cluster
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  # the names http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
        """Silent."""

    def serve(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body: Any = json.loads(raw) if raw else {}
        with self.owner.lock:
            self.owner.requests.append(Request(self.command, parts.path, self.headers.get("Content-Type") or "", body))
            status, answer = self.answer(parts.path, query, body)
        text = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path: str, query: dict[str, str], body: Any) -> tuple[int, Json | str]:
        cluster = self.owner
        if cluster.failures:
            status, message = cluster.failures.pop(0)
            return refusal(status, message)
        names = path.strip("/").split("/")
        kinds = ("nodes", "pods", "jobs", "configmaps", "events", "leases", "log", "eviction")
        resource = next(each for each in reversed(names) if each in kinds)
        verb = {"GET": "get" if path in cluster.objects else "list", "POST": "create", "PATCH": "patch", "DELETE": "delete"}[
            self.command
        ]
        if (verb, resource) in cluster.forbidden:
            group = "batch" if resource == "jobs" else ""
            where = f'in the namespace "{NAMESPACE}"' if "namespaces" in names else "at the cluster scope"
            user = "system:serviceaccount:x:gate"
            resource = "pods/eviction" if resource == "eviction" else resource
            return refusal(
                403,
                f'{resource} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {where}',
            )
        if resource == "log":
            text = cluster.logs.get(query["container"])
            return (200, text) if text is not None else refusal(400, "container is waiting to start")
        return getattr(self, f"{self.command.lower()}_object")(path, query, body)  # type: ignore[no-any-return]

    def get_object(self, path: str, query: dict[str, str], _: Json) -> tuple[int, Json]:
        cluster = self.owner
        if path in cluster.objects:
            return 200, cluster.objects[path]
        if path.endswith(("nodes", "pods", "jobs")):
            if (
                path.endswith("pods")
                and path != ALL_PODS
                and cluster.stages
                and any("train-ranks" in each and "/jobs/" in each for each in cluster.objects)
            ):
                cluster.stages.pop(0)(cluster)
            elif path.endswith("pods") and cluster.kubelet is not None:
                cluster.kubelet(cluster)
            wanted = [each.split("=", 1) for each in query.get("labelSelector", "").split(",") if each]
            items = [
                each
                for at, each in sorted(cluster.objects.items())
                if (at.rsplit("/", 1)[0] == path or (path == ALL_PODS and "/pods/" in at))
                and all(each["metadata"].get("labels", {}).get(key) == value for key, value in wanted)
            ]
            start = int(query.get("continue", "0"))
            size = int(query.get("limit") or 500)
            more = str(start + size) if start + size < len(items) else ""
            return 200, {"items": items[start : start + size], "metadata": {"continue": more}}
        return refusal(404, f"{path} not found")

    def post_object(self, path: str, _: dict[str, str], body: Json) -> tuple[int, Json]:
        if path.endswith("/eviction"):
            return self.evict(path.removesuffix("/eviction"), body)
        at = f"{path}/{body['metadata']['name']}"
        if at in self.owner.objects:
            return refusal(409, f"{at} already exists")
        if path.endswith("jobs") and self.owner.refuse_jobs:
            return refusal(403, self.owner.refuse_jobs)
        self.owner.put(at, body)
        return 201, body

    def evict(self, at: str, body: Json) -> tuple[int, Json]:
        pod = self.owner.objects.get(at)
        if pod is None or body["deleteOptions"]["preconditions"]["uid"] != pod["metadata"]["uid"]:
            return refusal(404 if pod is None else 409, f"{at} is not there, or another one")
        if at.rsplit("/", 1)[-1] in self.owner.budgets:
            return refusal(429, self.owner.budgets[at.rsplit("/", 1)[-1]])
        del self.owner.objects[at]
        return 201, {"status": "Success"}

    def patch_object(self, path: str, _: dict[str, str], body: Any) -> tuple[int, Json]:
        cluster = self.owner
        cluster.at_patch(cluster, path)
        if "json-patch" in self.headers["Content-Type"]:
            return self.json_patch(path, body)
        if path not in cluster.objects:
            if "apply-patch" not in self.headers["Content-Type"]:
                return refusal(404, f"{path} not found")
            cluster.put(path, body)
            return 201, body
        meta = cluster.objects[path]["metadata"]
        for key in ("uid", "resourceVersion"):  # the patch is conditional
            if body.get("metadata", {}).get(key, meta.get(key)) != meta.get(key):
                return refusal(409, f"{path}: the {key} is another one")
        merge(cluster.objects[path], body)
        meta["resourceVersion"] = str(int(meta.get("resourceVersion", "0")) + 1)
        return 200, cluster.objects[path]

    def json_patch(self, path: str, operations: list[Json]) -> tuple[int, Json]:
        """RFC 6902 on members of objects: test, add, remove. All or nothing."""
        if path not in self.owner.objects:
            return refusal(404, f"{path} not found")
        target = self.owner.objects[path]
        for operation in operations:
            *parents, last = operation["path"].strip("/").split("/")
            parent = target
            for name in parents:
                parent = parent.setdefault(name, {})
            if operation["op"] == "test" and parent.get(last) != operation["value"]:
                return refusal(422, "the server rejected our request due to an error in our request")
            if operation["op"] == "add":
                parent[last] = operation["value"]
            if operation["op"] == "remove":
                del parent[last]
        return 200, target

    def delete_object(self, path: str, _: dict[str, str], __: Json) -> tuple[int, Json]:
        cluster = self.owner
        if cluster.objects.pop(path, None) is None:
            return refusal(404, f"{path} not found")
        if "/jobs/" in path and not cluster.keep_pods:
            name = path.rsplit("/", 1)[-1]
            pods = [at for at in cluster.objects if "/pods/" in at]
            for at in [at for at in pods if cluster.objects[at]["metadata"].get("labels", {}).get(JOB_LABEL) == name]:
                del cluster.objects[at]
        return 200, {"status": "Success"}


def refusal(status: int, message: str) -> tuple[int, Json]:
    reasons = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 409: "AlreadyExists", 429: "TooManyRequests"}
    return status, {"kind": "Status", "reason": reasons.get(status, "InternalError"), "message": message}


def merge(target: Json, patch: Json) -> None:
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            target[key] = value
