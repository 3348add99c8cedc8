"""A small Kubernetes REST client: the calls the gate needs, time-outs, bounded retries, errors that say what is missing.

Standard library only. Inside a cluster `Api.in_cluster()`; elsewhere build one from a kubeconfig's server, TLS context and
headers.
"""

import http.client
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
Json = dict[str, Any]
Body = Mapping[str, Any] | Sequence[Mapping[str, Any]]

_FORBIDDEN: Final = re.compile(
    r"cannot (?P<verb>\S+) resource \"(?P<resource>[^\"]+)\" in API group \"(?P<group>[^\"]*)\""
    r"(?: in the namespace \"(?P<namespace>[^\"]+)\")?"
)
_ATTEMPTS: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0
_PAGE: Final = 500
_JSON: Final = "application/json"


class ApiError(Exception):
    """A request that failed: HTTP status (0 = no answer), the server's reason and message, and for 403 the missing permission.

    `missing_permission` reads like `create pods in namespace x` and is empty for other errors.
    """

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        self.request, self.status, self.reason, self.message = request, status, reason, message
        found = _FORBIDDEN.search(message) if status == 403 else None
        self.missing_permission = ""
        if found is not None:
            group = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
            where = f"in namespace {found['namespace']}" if found["namespace"] else "in the whole cluster"
            self.missing_permission = f"{found['verb']} {group} {where}"
        elif status == 403:
            self.missing_permission = request
        super().__init__(f"{request}: {f'{status} ' if status else ''}{reason}: {message}")


def path(resource: str, name: str = "", *, namespace: str = "", group: str = "", version: str = "v1", sub: str = "") -> str:
    """`path("pods", "a", namespace="x", sub="log")` -> `/api/v1/namespaces/x/pods/a/log`; `group` for all but the core API."""
    parts = ["apis", group, version] if group else ["api", version]
    if namespace:
        parts += ["namespaces", namespace]
    parts += [part for part in (resource, name, sub) if part]
    return "/" + "/".join(urllib.parse.quote(part, safe="") for part in parts)


class Api:
    """One API server. `headers` is called for every request (tokens rotate). `context` None: plain HTTP or default TLS.

    `timeout_s` is per attempt. Reads, patches and deletes are tried up to five times on connection errors, 429 and 5xx; a
    create only on 429, because it may have happened. Proxies of the environment are used only if `use_proxies`.
    `before_write` is asked before each try of a request that changes something, with its path; what it raises ends the request.
    """

    before_write: Callable[[str], None]

    def __init__(
        self,
        server: str,
        context: ssl.SSLContext | None,
        headers: Callable[[], Mapping[str, str]],
        *,
        timeout_s: float = 15.0,
        use_proxies: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server, self.headers, self.timeout_s, self.sleep = server.rstrip("/"), headers, timeout_s, sleep
        self.before_write = lambda _: None
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if not use_proxies:
            handlers.append(urllib.request.ProxyHandler({}))
        if context is not None:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self.opener = urllib.request.build_opener(*handlers)

    @staticmethod
    def in_cluster(account: Path = SERVICE_ACCOUNT) -> "Api":
        """The server and the service account of this pod. Raises ApiError outside a pod."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not host or not (account / "token").exists():
            raise ApiError("in-cluster access", 0, "NotInCluster", f"no API server in the environment or no token in {account}")

        def headers() -> Mapping[str, str]:
            return {"Authorization": "Bearer " + (account / "token").read_text("ascii").strip()}

        name = f"[{host}]" if ":" in host else host
        return Api(f"https://{name}:{port}", ssl.create_default_context(cafile=str(account / "ca.crt")), headers)

    def get(self, at: str, query: Mapping[str, str] | None = None) -> Json:
        """One object."""
        return self._json("GET", at, query)

    def find(self, at: str) -> Json | None:
        """One object, or None if there is none."""
        try:
            return self.get(at)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, at: str, *, labels: str = "", fields: str = "") -> list[Json]:
        """All objects of a collection that match the selectors."""
        return [*self.each(at, labels=labels, fields=fields)]

    def each(self, at: str, *, labels: str = "", fields: str = "") -> Iterator[Json]:
        """The same, page by page: a caller that keeps little of each object needs little memory."""
        query = {"limit": str(_PAGE), "labelSelector": labels, "fieldSelector": fields}
        while True:
            answer = self._json("GET", at, query)
            yield from answer.get("items") or []
            more = (answer.get("metadata") or {}).get("continue")
            if not more:
                return
            query["continue"] = more

    def create(self, at: str, body: Mapping[str, Any]) -> Json:
        """POST into a collection."""
        return self._json("POST", at, body=body)

    def apply(self, at: str, body: Mapping[str, Any], field_manager: str, *, force: bool = True) -> Json:
        """Server-side apply of one object."""
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        return self._json("PATCH", at, query, body, "application/apply-patch+yaml")

    def merge_patch(self, at: str, body: Mapping[str, Any], field_manager: str = "") -> Json:
        """JSON merge patch (RFC 7386): null removes a key."""
        return self._json("PATCH", at, {"fieldManager": field_manager}, body, "application/merge-patch+json")

    def json_patch(self, at: str, operations: Sequence[Mapping[str, Any]], field_manager: str = "") -> Json:
        """JSON patch (RFC 6902). 409 or 422 where one of its tests failed: read again."""
        return self._json("PATCH", at, {"fieldManager": field_manager}, operations, "application/json-patch+json")

    def evict(self, namespace: str, pod: str, uid: str) -> ApiError | None:
        """Ask for a pod's eviction, once; the error where it is refused (429: by a disruption budget). It ends in its time.

        The UID keeps a pod that has taken the name meanwhile from being evicted in its place.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        url = f"{self.server}{path('pods', pod, namespace=namespace, sub='eviction')}"
        answer, _ = self._attempt("POST", url, json.dumps(body).encode(), _JSON, self.timeout_s)
        return answer if isinstance(answer, ApiError) else None

    def delete(self, at: str, *, propagation: str = "Background") -> bool:
        """Delete one object; False if there was none. `propagation`: Background | Foreground | Orphan."""
        try:
            self._json("DELETE", at, body={"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation})
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def log(self, namespace: str, pod: str, container: str, *, tail_lines: int, timeout_s: float = 3.0) -> str:
        """The end of a container's log. One try: the API server asks the kubelet, and a dead node's does not answer."""
        query = {"container": container, "tailLines": str(tail_lines)}
        url = f"{self.server}{path('pods', pod, namespace=namespace, sub='log')}?{urllib.parse.urlencode(query)}"
        answer, _ = self._attempt("GET", url, None, _JSON, timeout_s)
        if isinstance(answer, ApiError):
            raise answer
        return answer.decode("utf-8", "replace")

    def _json(
        self,
        method: str,
        at: str,
        query: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str = _JSON,
    ) -> Json:
        raw = self._send(method, at, query or {}, body, content_type)
        try:
            answer = json.loads(raw)
        except ValueError:
            raise ApiError(f"{method} {at}", 0, "NotJson", f"the server answered {raw[:100]!r}") from None
        if not isinstance(answer, dict):
            raise ApiError(f"{method} {at}", 0, "NotJson", "the server did not answer with an object")
        return answer

    def _send(self, method: str, at: str, query: Mapping[str, str], body: Body | None, content_type: str) -> bytes:
        asked = urllib.parse.urlencode({key: value for key, value in query.items() if value})
        url = f"{self.server}{at}{f'?{asked}' if asked else ''}"
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            if method != "GET":
                self.before_write(at)
            failure, wait = self._attempt(method, url, data, content_type, self.timeout_s)
            if isinstance(failure, bytes):
                return failure
            again = failure.status == 429 or (method != "POST" and (failure.status == 0 or failure.status >= 500))
            if not again or attempt == _ATTEMPTS:
                raise failure
            self.sleep(min(_LONGEST_PAUSE_SECONDS, max(pause, wait)))
            pause *= 2
        raise AssertionError("unreachable")  # the last attempt returns or raises

    def _attempt(
        self, method: str, url: str, data: bytes | None, content_type: str, timeout_s: float
    ) -> tuple[bytes | ApiError, float]:
        """One try: the answer, or the error and how long the server asks to wait."""
        headers = {"Accept": "application/json, */*", "User-Agent": "gpufabric", **self.headers()}
        if data is not None:
            headers["Content-Type"] = content_type
        request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310  # the caller's server
        label = f"{method} {urllib.parse.urlsplit(url).path}"
        try:
            with self.opener.open(request, timeout=timeout_s) as answer:
                return bytes(answer.read()), 0.0
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode("utf-8", "replace")
            reason, message = _status(text)
            after = error.headers.get("Retry-After") or ""
            return ApiError(label, error.code, reason or str(error.reason), message), float(after) if after.isdigit() else 0.0
        except urllib.error.URLError as error:
            return ApiError(label, 0, "Unreachable", f"{self.server}: {error.reason}"), 0.0
        except (OSError, http.client.HTTPException) as error:
            return ApiError(label, 0, "Unreachable", f"{self.server}: {str(error) or type(error).__name__}"), 0.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token must not follow a redirect to somewhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _status(text: str) -> tuple[str, str]:
    """Reason and message of a Kubernetes Status; of other texts the beginning."""
    try:
        raw = json.loads(text)
    except ValueError:
        return "", text.strip()[:300]
    if not isinstance(raw, dict):
        return "", text.strip()[:300]
    return str(raw.get("reason") or ""), str(raw.get("message") or text.strip()[:300])
