"""What a finished run means for its nodes. A result counts only for the very boot and object that was measured."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from gpufabric.validation import contract, report
from gpufabric.validation import controller_state as state
from gpufabric.validation.api import Api, Json, path
from gpufabric.validation.controller_marks import Marks
from gpufabric.validation.controller_run import Run
from gpufabric.validation.ending import Ending

INTERRUPTED: Final = "interrupted"


def settle(api: Api, gate: contract.Gate, marks: Marks, run: Run, *, raw: Mapping[str, Json], busy: Collection[str]) -> str:
    """Write it down; returns the outcome, or INTERRUPTED where it says nothing about the nodes. Raises ApiError."""
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
    record = {**_record(gate, found, raw[node]), "partner": run.what.partner}
    marks.verdict(raw[node], found.label(node), record, f"{_said(found, node)} (measured with {run.what.partner})")
    if found.outcome == "fail":
        partner = raw[run.what.partner]
        entry = {"node": node, "at": record["at"], "busbw_gbytes_per_s": record["busbw_gbytes_per_s"]}
        text = f"a pair with {node} failed: {found.reason}; this node stays open, it passed before"
        marks.failed_pair(partner, state.failed_pairs(partner), entry, text)
    return found.label(node)


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
        if before.name == run.what.partner and now.label != "pass":
            return f"{before.name} is not known good any more"
        if before.name in busy and not passed:  # other pods can only make it slower
            return f"other pods came to {before.name} meanwhile"
    return ""


def _record(gate: contract.Gate, found: Ending, node: Json) -> dict[str, Any]:
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
    return f"{found.label(node)}: {found.reason}; stays closed"


def _write_verdict(api: Api, gate: contract.Gate, run: Run, found: Ending) -> None:
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
