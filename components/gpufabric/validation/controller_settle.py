"""What a finished run means for its nodes. A result counts only for the very boot and object that was measured."""

import json
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from gpufabric.validation import alone, contract, gate_json, report
from gpufabric.validation import controller_contract as words
from gpufabric.validation import controller_state as state
from gpufabric.validation.api import Api, Json, path
from gpufabric.validation.controller_marks import Marks
from gpufabric.validation.controller_run import Run
from gpufabric.validation.ending import Ending
from gpufabric.validation.findings import convicted

INTERRUPTED: Final = "interrupted"


@dataclass(frozen=True)
class Doubt:
    """A pair that failed: by one of the two, or the link. Another partner decides before the node is called bad."""

    boot_id: str
    partner: str
    reason: str


def settle(
    api: Api,
    gate: gate_json.Gate,
    marks: Marks,
    run: Run,
    *,
    raw: Mapping[str, Json],
    busy: Collection[str],
    doubts: MutableMapping[str, Doubt],
) -> str:
    """Write it down; returns the outcome, or INTERRUPTED where it says nothing about the nodes. Raises ApiError.

    `doubts`: by node, first failures of which a second opinion is to come.
    """
    found = run.ending
    if found is None or run.cancelled:
        return INTERRUPTED
    reason = _disturbed(run, raw, busy)
    if reason:
        print(f"{run.kind} {', '.join(run.what.nodes)}: {found.outcome} does not count: {reason}", flush=True)
        return INTERRUPTED
    if run.kind == "group":
        for name in run.what.nodes:
            marks.verdict(raw[name], found.label(name), _record(gate, found, raw[name]), _said(found, name))
        _write_verdict(api, gate, run, found)
        return found.outcome
    node = next(name for name in run.what.nodes if name != run.what.partner)
    if run.what.alone:
        record = alone.record(_record(run.gate, found, raw[node]))
        marks.verdict(raw[node], found.label(node), record, f"{_said(found, node)} (measured alone: no idle partner is there)")
        return found.label(node)
    return _settle_pair(gate, marks, found, node, run.what.partner, raw=raw, doubts=doubts)


def _settle_pair(
    gate: gate_json.Gate,
    marks: Marks,
    found: Ending,
    node: str,
    partner: str,
    *,
    raw: Mapping[str, Json],
    doubts: MutableMapping[str, Doubt],
) -> str:
    if _only_the_partner(gate, found, node, raw[partner]):
        marks.verdict(raw[partner], found.label(partner), _record(gate, found, raw[partner]), _said(found, partner))
        marks.tell(raw[node], f"nothing is known of it, its partner {partner} is not fit; measured with another one")
        return INTERRUPTED
    record = {**_record(gate, found, raw[node]), "partner": partner}
    doubt = doubts.pop(node, None)
    if doubt is not None and doubt.boot_id != record["boot_id"]:
        doubt = None
    if found.outcome == "fail":
        entry = {"node": node, "at": record["at"], "busbw_gbytes_per_s": record["busbw_gbytes_per_s"]}
        text = f"a pair with {node} failed: {found.reason}; this node stays open, it passed before"
        marks.failed_pair(raw[partner], state.failed_pairs(raw[partner]), entry, text)
    if found.outcome == "fail" and found.by_a_node and doubt is None and _another(raw, {node, partner}):
        if state.of(raw[node], {}, {}).label == "pass":  # it was opened alone; in doubt it is closed, as a late node is
            marks.close(raw[node], words.WHY_UNPROVEN, f"opened alone, and then failed with {partner}")
        doubts[node] = Doubt(record["boot_id"], partner, found.reason)
        marks.tell(raw[node], f"failed with {partner}: {found.reason}; another partner decides", warning=True)
        return found.outcome
    told = f"{_said(found, node)} (measured with {partner})"
    if doubt is not None:
        told += f"; before, with {doubt.partner}: {doubt.reason}"
        record["doubt"] = f"failed with {doubt.partner}: {doubt.reason}"[:1000]
    marks.verdict(raw[node], found.label(node), record, told)
    return found.label(node)


def _only_the_partner(gate: gate_json.Gate, found: Ending, node: str, partner: Json) -> bool:
    """Stages 0 and 1 name the partner, not the pair, so there is no doubt which of the two it is.

    Where both are named, or the partner passed when the gate asked for something else, the cause may be the wish, and one
    late node after the other would close the open ones.
    """
    named, record = convicted(found.findings), state.of(partner, {}, {}).record
    stands = record is not None and record.fingerprint == gate.fingerprint
    return stands and partner["metadata"]["name"] in named and node not in named


def _another(raw: Mapping[str, Json], but: Collection[str]) -> bool:
    """Whether there is a further node that is known good, idle or not."""
    states = [state.of(each, {}, {}) for name, each in raw.items() if name not in but]
    return any(each.label == "pass" and each.ready and each.proven and not each.alone for each in states)


def _disturbed(run: Run, raw: Mapping[str, Json], busy: Collection[str]) -> str:
    """Why the figures are not of these nodes alone: one went away or was rebooted, or another's pods came in between."""
    passed = run.ending is not None and run.ending.outcome == "pass"
    for before in run.group.members:
        current = raw.get(before.name)
        if current is None:
            return f"{before.name} is gone, or lost the label that selects it"
        now = state.of(current, {}, {})
        if not now.ready:
            return f"{before.name} is not Ready"
        if now.boot_id != before.boot_id or not now.boot_id:
            return f"{before.name} was rebooted"
        reserved = now.hold is not None and now.hold.why == words.WHY_RESERVED and now.proven
        if before.name == run.what.partner and now.label != "pass" and not reserved:
            return f"{before.name} is not known good any more"
        if before.name in busy and not passed:  # other pods can only make it slower
            return f"other pods came to {before.name} meanwhile"
    return ""


def _record(gate: gate_json.Gate, found: Ending, node: Json) -> dict[str, Any]:
    record = report.annotation(gate, found, node["metadata"]["name"])
    record["boot_id"] = node["status"]["nodeInfo"]["bootID"]
    if found.outcome != "pass":
        record.setdefault("why", found.reason[:1000])
    return record


def _said(found: Ending, node: str) -> str:
    """For the Event: what is, and why."""
    if found.outcome == "pass":
        busbw = found.measurement.busbw_gbytes_per_s if found.measurement else None
        return f"pass: busbw {busbw:.4g} GB/s; open to jobs" if busbw is not None else "pass; open to jobs"
    why = found.why(node)
    return f"{found.label(node)}: {found.reason}{f' ({why})' if why else ''}; stays closed"


def _write_verdict(api: Api, gate: gate_json.Gate, run: Run, found: Ending) -> None:
    """The group's verdict, where `pulumi up` and people look for it."""
    name, namespace = gate.names.verdict, gate.namespace
    verdict = json.dumps(report.verdict(gate, found, run.started_at), separators=(",", ":"))
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/managed-by": "gpufabric"}},
        "data": {contract.VERDICT_KEY: verdict, contract.OUTPUT_KEY: run.output},
    }
    api.apply(path("configmaps", name, namespace=namespace), body, contract.FIELD_MANAGER)
