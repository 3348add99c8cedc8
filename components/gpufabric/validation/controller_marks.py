"""What the controller writes on nodes: label, annotations, events. One merge patch per node and change."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpufabric.validation import clock, contract, hold
from gpufabric.validation import controller_contract as words
from gpufabric.validation.api import Api, ApiError, Json, path

_MOST_PAIRS: Final = 8
_MOST_TEXT: Final = 1000


class Marks:
    """Writes to nodes, and events about them. `name`: the controller's. `taint`: closed nodes are tainted too."""

    def __init__(self, api: Api, name: str, *, taint: bool) -> None:
        self.api, self.name, self.taint = api, name, taint
        self.count = 0

    def reserve(self, node: Json, reason: str) -> None:
        """Close a known-good node to everybody for a while, whatever the hold is."""
        self._patch(node, {contract.LABEL_VALIDATED: None}, {contract.ANNOTATION_HOLD: _note(node, words.WHY_RESERVED, reason)})
        self._lock(node, wanted=True)
        self.tell(node, reason)

    def close(self, node: Json, why: str, reason: str) -> None:
        """Take the label away and say why; the record of the last verdict stays."""
        self._patch(node, {contract.LABEL_VALIDATED: None}, {contract.ANNOTATION_HOLD: _note(node, why, reason)})
        self._lock(node, wanted=self.taint)
        self.tell(node, f"closed to new jobs: {reason}", warning=True)

    def restore(self, node: Json) -> None:
        """Give the label back."""
        self._patch(node, {contract.LABEL_VALIDATED: "pass"}, {contract.ANNOTATION_HOLD: None})
        self._lock(node, wanted=False)
        self.tell(node, "open to jobs again: it passed in this boot")

    def pend(self, node: Json, why: str, reason: str) -> None:
        """Say what it waits for, and as which outcome."""
        outcome = "deferred" if why == words.WHY_BUSY else "pending"
        self._patch(node, {}, {contract.ANNOTATION_HOLD: _note(node, why, reason, outcome=outcome)})
        self.tell(node, f"{outcome}: {reason}")

    def clear(self, node: Json) -> None:
        """Nothing holds it any more."""
        self._patch(node, {}, {contract.ANNOTATION_HOLD: None})
        self._lock(node, wanted=False)

    def lock(self, node: Json) -> None:
        """Taint a closed node that joined without the taint, or lost it."""
        self._lock(node, wanted=True)

    def unlock(self, node: Json) -> None:
        """Take the taint off a node that stays closed: the hold is the label alone."""
        self._lock(node, wanted=False)

    def verdict(self, node: Json, outcome: str, record: Mapping[str, Any], text: str) -> None:
        """Label and record, for the boot that was measured."""
        note = json.dumps(record, separators=(",", ":"))
        annotations = {contract.ANNOTATION_VALIDATION: note, contract.ANNOTATION_HOLD: None}
        self._patch(node, {contract.LABEL_VALIDATED: outcome}, annotations)
        self._lock(node, wanted=self.taint and outcome != "pass")
        self.tell(node, text, warning=outcome != "pass")

    def failed_pair(self, partner: Json, earlier: Sequence[Any], entry: Mapping[str, Any], text: str) -> None:
        """Record on a known-good node that a pair with it failed; its label is not touched."""
        kept = [*earlier, dict(entry)][-_MOST_PAIRS:]
        self._patch(partner, {}, {words.ANNOTATION_FAILED_PAIRS: json.dumps(kept, separators=(",", ":"))})
        self.tell(partner, text, warning=True)

    def tell(self, node: Json, text: str, *, warning: bool = False) -> None:
        """An Event on the node, and a line in the log. An event that cannot be written is no reason to stop."""
        meta = node["metadata"]
        print(f"node {meta['name']}: {text}", flush=True)
        self.count += 1
        at = clock.now()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{meta['name'][:180]}.{time.time_ns():x}.{self.count}",
                "namespace": words.EVENTS_NAMESPACE,
            },
            "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta.get("uid", "")},
            "type": "Warning" if warning else "Normal",
            "reason": words.EVENT_REASON,
            "message": text[:_MOST_TEXT],
            "source": {"component": self.name},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
        try:
            self.api.create(path("events", namespace=words.EVENTS_NAMESPACE), event)
        except ApiError as error:
            print(f"(no event: {error})", flush=True)

    def _patch(self, node: Json, labels: Mapping[str, str | None], annotations: Mapping[str, str | None]) -> None:
        """The node must still be the object that was looked at: one replaced under its name has another UID, and gets 409."""
        meta: dict[str, Any] = {"uid": node["metadata"].get("uid"), "annotations": dict(annotations)}
        if labels:
            meta["labels"] = dict(labels)
        self.api.merge_patch(path("nodes", node["metadata"]["name"]), {"metadata": meta}, contract.FIELD_MANAGER)

    def _lock(self, node: Json, *, wanted: bool) -> None:
        if hold.has(node) != wanted:
            hold.put(self.api, node["metadata"]["name"], wanted=wanted, uid=node["metadata"].get("uid") or "")


def _note(node: Json, why: str, reason: str, **more: str) -> str:
    boot_id = ((node.get("status") or {}).get("nodeInfo") or {}).get("bootID") or ""
    said = {"why": why, "reason": reason[:_MOST_TEXT], "boot_id": boot_id, "at": clock.now(), **more}
    return json.dumps(said, separators=(",", ":"))
