"""What the gate says: events while it runs, verdict.json, and one message for whoever is on call."""

import time
from typing import Any, Final

from gpufabric.validation import contract, gate_json, health_report, inside_group
from gpufabric.validation.api import Api, ApiError, Json, path
from gpufabric.validation.clock import now
from gpufabric.validation.ending import Ending
from gpufabric.validation.findings import convicted
from gpufabric.validation.judge import size_text
from gpufabric.validation.measurement import Measurement
from gpufabric.validation.words import listed

_MOST_FINDINGS: Final = 5


class Events:
    """Progress as Kubernetes Events on the coordinator's Job, and on stdout.

    Type Warning although nothing is wrong: the Pulumi Kubernetes provider prints a Job's Warning events in the log of
    `pulumi up` and hides Normal ones, and this is how progress gets there.
    """

    def __init__(self, api: Api, namespace: str, job: Json) -> None:
        self.api, self.namespace, self.job = api, namespace, job
        self.failed = False
        self.count = 0

    def say(self, text: str) -> None:
        """Tell it; an event that cannot be written is no reason to stop."""
        print(text, flush=True)
        if self.failed:
            return
        self.count += 1
        name, at = str(self.job["metadata"]["name"]), now()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{time.time_ns():x}.{self.count}", "namespace": self.namespace},
            "involvedObject": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name,
                "namespace": self.namespace,
                "uid": self.job["metadata"]["uid"],
            },
            "type": "Warning",
            "reason": contract.EVENT_REASON_PROGRESS,
            "message": text[:1000],
            "source": {"component": contract.FIELD_MANAGER},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
        try:
            self.api.create(path("events", namespace=self.namespace), event)
        except ApiError as error:
            self.failed = True
            print(f"(progress cannot be written as events: {error})", flush=True)


def verdict(gate: gate_json.Gate, ending: Ending, started_at: str) -> dict[str, Any]:
    """verdict.json. Bandwidths in 1e9 bytes/s, times in microseconds; null where nothing was measured.

    `run_settled`: a higher `run` than this was raised, and may drain busy nodes; below `run` where a drain did not succeed.
    """
    found, wanted = ending.measurement, gate.expectation
    return {
        "version": gate_json.VERSION,
        "outcome": ending.outcome,
        "reason": ending.reason,
        "fix": ending.fix,
        "stack": gate.stack,
        "group": gate.group,
        "nodes": list(ending.nodes),
        "backend": wanted.backend,
        "collective": wanted.collective,
        "ranks": found.ranks if found and found.ranks is not None else wanted.ranks,
        "size_bytes": found.size_bytes if found and found.size_bytes else wanted.max_bytes,
        "busbw_gbytes_per_s": found.busbw_gbytes_per_s if found else None,
        "algbw_gbytes_per_s": found.algbw_gbytes_per_s if found else None,
        "latency_us": found.latency_us if found else None,
        "floor_busbw_gbytes_per_s": wanted.floor_busbw_gbytes_per_s,
        "floor_source": wanted.floor_source,
        "also": _also(wanted, found),
        "table": [list(row) for row in found.table] if found else [],
        "findings": [each.to_dict() for each in ending.findings],
        "pairs": [
            {
                "round": pair.round,
                "nodes": list(pair.nodes),
                "outcome": pair.outcome,
                "busbw_gbytes_per_s": pair.busbw_gbytes_per_s,
            }
            for pair in ending.pairs
        ],
        "health": health_report.to_verdict(gate.health, ending.health),
        "inside": inside_group.to_verdict(gate.inside, ending.inside),
        "image": gate.image,
        "run": gate.run,
        "run_settled": gate.run,
        "fingerprint": gate.fingerprint,
        "stand_ins": list(gate.stand_ins),
        "started_at": started_at,
        "finished_at": now(),
    }


def _also(wanted: gate_json.Expectation, found: Measurement | None) -> list[dict[str, Any]]:
    """The second collective of verdict.json: none, or one. A floor of null: none is known."""
    if wanted.also is None:
        return []
    result = found.also if found else None
    return [
        {
            "collective": wanted.also.collective,
            "outcome": result.outcome if result else "unknown",
            "reason": result.reason if result else "it did not run",
            "size_bytes": result.size_bytes if result and result.size_bytes else wanted.max_bytes,
            "busbw_gbytes_per_s": result.busbw_gbytes_per_s if result else None,
            "floor_busbw_gbytes_per_s": wanted.also.floor_busbw_gbytes_per_s,
            "floor_source": wanted.also.floor_source,
        }
    ]


def annotation(gate: gate_json.Gate, ending: Ending, node: str) -> dict[str, Any]:
    """The annotation of one node without its boot id. `outcome` is the node's label; `why`, where its findings are told."""
    why = ending.why(node)
    return {
        "outcome": ending.label(node),
        "stack": gate.stack,
        "group": gate.group,
        "busbw_gbytes_per_s": ending.measurement.busbw_gbytes_per_s if ending.measurement else None,
        "floor_busbw_gbytes_per_s": gate.expectation.floor_busbw_gbytes_per_s,
        "at": now(),
        "fingerprint": gate.fingerprint,
        **({"why": why[:1000]} if why else {}),
    }


def message(gate: gate_json.Gate, ending: Ending) -> str:
    """For an on-call engineer at 3 a.m.: a line with what is, one for each finding, one with what to do. At most 4096 bytes."""
    found, wanted = ending.measurement, gate.expectation
    over = f" over {listed(ending.nodes)}" if ending.nodes else ""
    floor = f"wanted at least {wanted.floor_busbw_gbytes_per_s:.4g} GB/s (floor {wanted.floor_source})"
    measured = ""
    if found is not None and found.busbw_gbytes_per_s is not None and found.size_bytes:
        measured = (
            f"{wanted.collective} busbw {found.busbw_gbytes_per_s:.4g} GB/s at {size_text(found.size_bytes)}{over}; {floor}"
        )
        measured += _also_measured(wanted, found)
    if ending.outcome == "pass":
        first = f"PASS {gate.group}: {measured}. Nodes are open to jobs."
    elif ending.outcome == "fail":
        why = "" if found is not None and found.cause == "slow" else f"{ending.reason}. "
        first = f"FAIL {gate.group}: {why}{measured or f'Nothing measured{over}; {floor}'}. Nodes stay closed."
    elif ending.outcome in ("pending", "deferred"):
        first = f"{ending.outcome.upper()} {gate.group}: {ending.reason}."
    else:
        kept = f" Nodes {listed(ending.nodes)} stay closed."
        if not ending.nodes or "label was changed" in ending.reason:
            kept = ""
        first = f"UNKNOWN {gate.group}: {ending.reason}.{kept}"
    if healthy := health_report.summary(ending.health):
        first += f" {healthy}."
    if inside := inside_group.summary(gate.inside, ending.inside):
        first += f" {inside}."
    if gate.stand_ins:
        first += f" Stand-ins: {'; '.join(gate.stand_ins)}."
    lines = [f"{_cut(each.text, 300)}." for each in ending.findings[:_MOST_FINDINGS]]
    if len(ending.findings) > _MOST_FINDINGS:
        named = listed(convicted(ending.findings), most=40)
        lines.append(_cut(f"In all {len(ending.findings)} findings, in the verdict: {named}.", 600))
    lines.append(_cut(f"Next: {ending.fix}.", 800))
    room = contract.TERMINATION_MESSAGE_BYTES - sum(len(line.encode()) + 1 for line in lines)
    return "\n".join([_cut(first, room), *lines])


def _also_measured(wanted: gate_json.Expectation, found: Measurement) -> str:
    """The second collective's figure, after the first's."""
    if wanted.also is None or found.also is None or found.also.busbw_gbytes_per_s is None:
        return ""
    floor = "no floor is known for it"
    if wanted.also.floor_busbw_gbytes_per_s is not None:
        floor = f"wanted at least {wanted.also.floor_busbw_gbytes_per_s:.4g} GB/s (floor {wanted.also.floor_source})"
    return f"; {wanted.also.collective} busbw {found.also.busbw_gbytes_per_s:.4g} GB/s, {floor}"


def _cut(text: str, most_bytes: int) -> str:
    raw = " ".join(text.split()).encode()
    return raw.decode() if len(raw) <= most_bytes else raw[: most_bytes - 4].decode("utf-8", "ignore") + " …"
