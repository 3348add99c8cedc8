"""The little of the Kubernetes API that bringing up a cluster needs, over the standard library."""

import json
import ssl
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from tools.localcluster.pki import Pki

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Api:
    """A client with the administrator's certificate."""

    pki: Pki

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context(cafile=str(self.pki.ca))
        context.load_cert_chain(self.pki.certificate("admin"), self.pki.key("admin"))
        # An empty ProxyHandler: a proxy of the user's must not stand between this machine and itself.
        return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def ready(self) -> bool:
        """Does the API server say that it is ready?"""
        return self.text("/readyz") == "ok"

    def get(self, path: str) -> dict[str, Any]:
        """GET; a missing object is an HTTPError, which is an OSError."""
        return self._send("GET", path, None)

    def text(self, path: str) -> str:
        """GET of something that is not JSON, such as a pod's log."""
        with self._opener.open(f"{self.pki.server}{path}", timeout=TIMEOUT_SECONDS) as answer:
            return str(answer.read().decode())

    def create(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """POST to a collection."""
        return self._send("POST", path, content, "application/json")

    def merge_patch(self, path: str, change: dict[str, Any]) -> dict[str, Any]:
        """PATCH with a JSON merge patch."""
        return self._send("PATCH", path, change, "application/merge-patch+json")

    def apply(self, path: str, text: str) -> dict[str, Any]:
        """Server-side apply of an object as YAML or JSON text: made, or corrected where it differs."""
        query = "?fieldManager=localcluster&force=true"
        return self._send("PATCH", f"{path}{query}", text, "application/apply-patch+yaml")

    def delete(self, path: str) -> None:
        """DELETE."""
        self._send("DELETE", path, None)

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Nodes by name."""
        return {node["metadata"]["name"]: node for node in self.get("/api/v1/nodes")["items"]}

    def deployment_ready(self, namespace: str, name: str) -> bool:
        """Whether its only pod is ready, and of its last version."""
        status = self.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}").get("status", {})
        return (status.get("readyReplicas"), status.get("updatedReplicas")) == (1, 1)

    def lease_renewals(self) -> dict[str, datetime]:
        """When each node's kubelet last said that it lives. A Ready condition alone may be of the time before a crash."""
        leases = self.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]
        return {lease["metadata"]["name"]: _time(lease["spec"]["renewTime"]) for lease in leases}

    def _send(self, method: str, path: str, body: dict[str, Any] | str | None, content_type: str = "") -> dict[str, Any]:
        request = urllib.request.Request(f"{self.pki.server}{path}", method=method)  # noqa: S310 (https, our own server)
        if body is not None:
            request.data = (body if isinstance(body, str) else json.dumps(body)).encode()
            request.add_header("Content-Type", content_type)
        with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            content: dict[str, Any] = json.load(answer)
            return content


def object_path(content: dict[str, Any]) -> str:
    """The API path of an object; its plural is regular for every kind here."""
    version, metadata = content["apiVersion"], content["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    where = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{where}/{content['kind'].lower()}s/{metadata['name']}"


def is_ready(node: dict[str, Any]) -> bool:
    """Ready, and already without the taints that keep pods off a node that just became so."""
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
    taints = [t["key"] for t in node["spec"].get("taints", [])]
    return conditions.get("Ready") == "True" and not any(t.startswith("node.kubernetes.io/") for t in taints)


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
