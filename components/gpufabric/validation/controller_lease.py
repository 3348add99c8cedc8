"""Leadership by a Lease: two controllers of one group, during a node's death or a hasty roll-out, must not both label nodes."""

import datetime
from collections.abc import Callable
from typing import Any, Final

from gpufabric.validation.api import Api, ApiError, Json, path

DURATION_SECONDS: Final = 20
_RENEW_SECONDS: Final = DURATION_SECONDS / 3
_NODES: Final = path("nodes")
_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


class LostLeadError(Exception):
    """Somebody else may lead by now: nothing may be written to a node."""


class Lease:
    """One candidate, `holder`; `owner`: the reference to what the Lease goes with. `clock` in seconds, never going back.

    Another's lease is waited for as long as it lasts from when this candidate saw it change: clocks of machines differ.
    """

    def __init__(self, api: Api, namespace: str, name: str, *, holder: str, owner: Json, clock: Callable[[], float]) -> None:
        self.api, self.name, self.holder, self.owner, self.clock = api, name, holder, owner, clock
        self.collection = path("leases", namespace=namespace, group="coordination.k8s.io")
        self.at = f"{self.collection}/{name}"
        self.renewed_at: float | None = None
        self.seen: tuple[str, float] = ("", 0.0)

    def hold(self) -> bool:
        """Take or renew it; True while this candidate leads. A request that fails is no reason to step down before the time."""
        try:
            renewed = self._renew()
        except ApiError as error:
            print(f"lease {self.name}: {error}", flush=True)
            if error.status == 409:  # somebody else was faster
                self.renewed_at = None
            return self.valid()
        self.renewed_at = self.clock() if renewed else None
        return renewed

    def valid(self) -> bool:
        """Whether it was renewed recently enough that nobody else can hold it."""
        return self._younger_than(DURATION_SECONDS * 2 / 3)

    def _younger_than(self, seconds: float) -> bool:
        return self.renewed_at is not None and self.clock() - self.renewed_at < seconds

    def check_write(self, at: str) -> None:
        """For `Api.before_write`: a request to a node goes out only while this candidate leads. Raises LostLeadError.

        A look may take longer than the lease lasts (many nodes, a slow API server), and so may the tries of one request.
        """
        if at.startswith(f"{_NODES}/") and not (self._younger_than(_RENEW_SECONDS) or self.hold()):
            raise LostLeadError(f"the lease {self.name} is not held any more: {at} was not written")

    def release(self) -> None:
        """Let the next one lead at once."""
        if self.valid():
            self.api.merge_patch(self.at, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})

    def _renew(self) -> bool:
        current = self.api.find(self.at)
        if current is None:
            meta = {"name": self.name, "ownerReferences": [self.owner]}
            self.api.create(self.collection, {**_KIND, "metadata": meta, "spec": self._spec(first=True)})
            return True
        spec = current.get("spec") or {}
        other = str(spec.get("holderIdentity") or "")
        if other not in ("", self.holder) and not self._expired(current, float(spec.get("leaseDurationSeconds") or 0)):
            return False
        # The resource version makes the patch conditional: of two candidates one gets 409.
        meta = {"resourceVersion": current["metadata"].get("resourceVersion"), "ownerReferences": [self.owner]}
        self.api.merge_patch(self.at, {"metadata": meta, "spec": self._spec(first=other != self.holder)})
        return True

    def _expired(self, current: Json, duration_s: float) -> bool:
        state = repr(current.get("spec"))
        if state != self.seen[0]:
            self.seen = (state, self.clock())
        return self.clock() - self.seen[1] > duration_s

    def _spec(self, *, first: bool) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.UTC).strftime(_FORMAT)
        spec: dict[str, Any] = {"holderIdentity": self.holder, "leaseDurationSeconds": DURATION_SECONDS, "renewTime": now}
        return {**spec, "acquireTime": now} if first else spec


_KIND: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
