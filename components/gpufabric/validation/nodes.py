"""The group's nodes: find them, close them, open them again as they were, mark them with the outcome."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufabric.validation import contract, gate_json, hold, records
from gpufabric.validation.api import Api, Json, path
from gpufabric.validation.clock import now
from gpufabric.validation.ending import AGAIN, Undecided
from gpufabric.validation.records import Record
from gpufabric.validation.words import count, listed


@dataclass(frozen=True)
class Node:
    """A node as the gate sees it. `why_not`: why no rank could run on it, empty if one could. `boot_id` changes at a reboot.

    `label`, `tainted`: whether it is open; of a node that is closed for a drain (`draining`), as it was before. `record`: its
    last verdict.
    """

    name: str
    why_not: str
    boot_id: str
    label: str = ""
    tainted: bool = False
    draining: bool = False
    record: Record | None = None

    @property
    def usable(self) -> bool:
        return not self.why_not


@dataclass(frozen=True)
class Group:
    """`members`: exactly the nodes that are validated; `surplus`: others the selector matches, that could not run a rank."""

    members: tuple[Node, ...]
    surplus: tuple[Node, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.members)


def of(raw: Json) -> Node:
    """A Node object of the API -> Node."""
    status, meta = raw.get("status") or {}, raw.get("metadata") or {}
    ready: Json = next((each for each in status.get("conditions") or [] if each.get("type") == "Ready"), {})
    why_not = ""
    if meta.get("deletionTimestamp"):
        why_not = "is being deleted"
    elif ready.get("status") != "True":
        said = " ".join(str(ready.get(key)) for key in ("reason", "message") if ready.get(key))
        why_not = f"is not Ready ({said or 'no Ready condition yet'})"
    elif (raw.get("spec") or {}).get("unschedulable"):
        why_not = "is cordoned"
    annotations = meta.get("annotations") or {}
    node = Node(
        raw["metadata"]["name"],
        why_not,
        boot_id=str((status.get("nodeInfo") or {}).get("bootID") or ""),
        label=str((meta.get("labels") or {}).get(contract.LABEL_VALIDATED, "")),
        tainted=hold.has(raw),
        record=records.record(annotations),
    )
    held = records.hold(annotations)
    if held is None or held.why != contract.WHY_DRAINING:
        return node
    if held.boot_id != node.boot_id:  # whatever it was, it is another boot now
        return replace(node, draining=True)
    return replace(node, draining=True, label=held.label, tainted=held.tainted)


def find(api: Api, selector: Mapping[str, str]) -> list[Node]:
    """The nodes that match the selector, by name."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    return sorted((of(raw) for raw in api.list(path("nodes"), labels=labels)), key=lambda node: node.name)


def wait_for_group(api: Api, gate: gate_json.Gate, say: Callable[[str], None], poll_s: float) -> Group:
    """Exactly the number of nodes asked for, Ready and schedulable; raises Undecided for more, and for fewer when time is up.

    Fewer are pending at once where the plan says that they may come later (`wait_for_nodes` false).
    """
    end, told = time.monotonic() + gate.timeouts.nodes_s, ""
    selector = ", ".join(f"{key}={value}" for key, value in sorted(gate.node_selector.items()))
    while True:
        matched = find(api, gate.node_selector)
        usable = tuple(node for node in matched if node.usable)
        if len(usable) == gate.nodes:
            return Group(usable, tuple(node for node in matched if not node.usable))
        names = tuple(node.name for node in usable)
        if len(usable) > gate.nodes:
            raise Undecided(
                f"the selector {selector} matches {len(usable)} nodes: {listed(names)}; the spec asks for {gate.nodes}. "
                "No node's label was changed",
                "set `nodes` to the real number or take the label off the surplus nodes, " + AGAIN,
                nodes=names,
            )
        others = "".join(f"; {node.name} {node.why_not}" for node in matched if not node.usable)
        have = f": {listed(names)}" if names else ""
        state = f"{len(usable)} of {count(gate.nodes, 'node')} with {selector} can run a rank{have}{others}"
        if not gate.wait_for_nodes:
            fix = "nothing; once the missing nodes have joined, run `pulumi up` with a higher validation.run"
            raise Undecided(f"{state}. No node's label was changed", fix, outcome="pending", nodes=names)
        if time.monotonic() >= end:
            raise Undecided(
                f"{state}, after {gate.timeouts.nodes_s} s. No node's label was changed",
                f"bring the missing nodes up (kubectl get nodes -l {selector.replace(' ', '')}), {AGAIN}",
                nodes=names,
            )
        if state != told:
            say(f"waiting for nodes: {state}")
            told = state
        time.sleep(poll_s)


def close(api: Api, members: Sequence[Node], *, taint: bool, drain: str = "") -> None:
    """Take the label off, and taint: no job is admitted while nothing is known. The record of the last verdict stays.

    `drain`: why they are drained; how they were is then kept on them, so that they open again whatever becomes of this process.
    """
    for node in members:
        meta: dict[str, Any] = {"labels": {contract.LABEL_VALIDATED: None}}
        if drain:
            before = {"why": contract.WHY_DRAINING, "reason": drain, "label": node.label, "tainted": node.tainted}
            note = json.dumps({**before, "boot_id": node.boot_id, "at": now()}, separators=(",", ":"))
            meta["annotations"] = {contract.ANNOTATION_HOLD: note}
        api.merge_patch(path("nodes", node.name), {"metadata": meta}, contract.FIELD_MANAGER)
        if taint:
            hold.put(api, node.name, wanted=True)


def reopen(api: Api, members: Sequence[Node]) -> None:
    """Label and taint as they were before `close`; a node that was rebooted since stays closed."""
    for before in members:
        raw = api.find(path("nodes", before.name))
        if raw is None or of(raw).boot_id != before.boot_id:
            continue
        meta: dict[str, Any] = {"annotations": {contract.ANNOTATION_HOLD: None}}
        if before.label:
            meta["labels"] = {contract.LABEL_VALIDATED: before.label}
        api.merge_patch(path("nodes", before.name), {"metadata": meta}, contract.FIELD_MANAGER)
        if hold.has(raw) != before.tainted:
            hold.put(api, before.name, wanted=before.tainted)


def check_unchanged(before: Group, after: Sequence[Node]) -> None:
    """Raises Undecided if a member went away, stopped being usable or rebooted: then the numbers are not of these nodes."""
    now = {node.name: node for node in after}
    for node in before.members:
        current = now.get(node.name)
        what = ""
        if current is None:
            what = "is gone, or lost the label that selects it"
        elif not current.usable:
            what = current.why_not
        elif current.boot_id != node.boot_id:
            what = "was rebooted"
        if what:
            raise Undecided(
                f"node {node.name} {what} during the validation",
                f"look at the node (kubectl describe node {node.name}), {AGAIN}",
                nodes=before.names,
            )


def mark(api: Api, group: Group, of_node: Callable[[str], tuple[str, Mapping[str, Any]]], *, taint: bool) -> None:
    """Label every member; the annotation says what the label rests on. Only `pass` opens a node to jobs.

    `of_node`: label and annotation (without the boot id) of a node. `taint`: those that do not pass keep the taint.
    """
    for node in group.members:
        label, record = of_node(node.name)
        text = json.dumps({**record, "boot_id": node.boot_id}, separators=(",", ":"))
        annotations = {contract.ANNOTATION_VALIDATION: text, contract.ANNOTATION_HOLD: None}
        body = {"metadata": {"labels": {contract.LABEL_VALIDATED: label}, "annotations": annotations}}
        raw = api.merge_patch(path("nodes", node.name), body, contract.FIELD_MANAGER)
        wanted = taint and label != "pass"
        if hold.has(raw) != wanted:  # also one that a drain has set, or that the node was created with
            hold.put(api, node.name, wanted=wanted)
