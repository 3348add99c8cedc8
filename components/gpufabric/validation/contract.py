"""The gate's contract: `gate.json`, and every path, name, label and port that two programs of the gate share.

The plan (ring 3) writes `gate.json` and the manifests; the coordinator and the judge read it inside the cluster. Both
import the words from here, so that none is written twice. Everything is plain data; units stand in the names.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from gpufabric.validation import also_wish, health_wish, inside_wish
from gpufabric.validation.reader import Reader

VERSION: Final = 1
"""Of gate.json, of the judge's measurement and of verdict.json. Another number is an error, never guessed at."""

# --- labels, annotations, names ---
LABEL_VALIDATED: Final = "gpufabric.dev/validated"
"""Node label: pass | fail | unknown. Only `pass` opens the node; no label = not validated."""
ANNOTATION_VALIDATION: Final = "gpufabric.dev/validation"
"""Node annotation, JSON: outcome, stack, group, busbw_gbytes_per_s, floor_busbw_gbytes_per_s, at, fingerprint, boot_id."""
RESTS_ON: Final = "rests_on"
SINGLE_NODE: Final = "single node"
"""In ANNOTATION_VALIDATION of a node that was opened alone: nothing was measured between it and another one."""
ANNOTATION_HOLD: Final = "gpufabric.dev/hold"
"""Node annotation, JSON, while a node is kept closed: why, reason, at, boot_id; outcome where it waits to be measured."""
TAINT_HOLD: Final = "gpufabric.dev/hold"
"""The hold's second lock: the only taint that the gate's accounts set or take away."""
HOLD_TAINT: Final[Mapping[str, str]] = {"key": TAINT_HOLD, "effect": "NoSchedule"}
HOLD_TOLERATION: Final[Mapping[str, str]] = {"key": TAINT_HOLD, "operator": "Exists", "effect": "NoSchedule"}
"""Of rank pods and of every DaemonSet that a closed node needs; never of a job."""
HOLDS: Final = ("label", "taint")
"""How a node is closed: without the label `pass` alone, or tainted as well."""
WHY_DRAINING: Final = "draining"
"""In ANNOTATION_HOLD: closed to be drained; `label` and `tainted` say how it was before."""
LABEL_JOB: Final = "batch.kubernetes.io/job-name"
"""Kubernetes' own label on the pods of a Job."""
FIELD_MANAGER: Final = "gpufabric-gate"
CONTAINER_COORDINATOR: Final = "coordinator"
CONTAINER_RANK: Final = "rank"
CONTAINER_JUDGE: Final = "judge"
EVENT_REASON_PROGRESS: Final = "GateProgress"
VERDICT_KEY: Final = "verdict.json"
OUTPUT_KEY: Final = "output.txt"
OUTCOMES: Final = ("pass", "fail", "unknown", "pending", "deferred")
EXIT_CODES: Final[Mapping[str, int]] = {"pass": 0, "pending": 0, "deferred": 0, "fail": 2, "unknown": 3}
"""The coordinator's exit code for each outcome; a non-zero code makes `pulumi up` fail."""
KILLED_CODES: Final = (137, 255)
"""Exit codes of a container that was killed, or that nobody saw end because its node died: 137 by the kubelet's word
(ContainerStatusUnknown), 255 by containerd's."""
TERMINATION_MESSAGE_BYTES: Final = 4096
"""The kubelet keeps this much of a termination message (Kubernetes documentation, Determine the Reason for Pod Failure)."""
OUTPUT_TAIL_BYTES: Final = 64 * 1024

# --- paths ---
ROOT: Final = "/gate"
LIB_DIR: Final = "/gate/lib"
PACKAGE_DIR: Final = "/gate/lib/gpufabric/validation"
PLAN_DIR: Final = "/gate/plan"
GATE_FILE: Final = "/gate/plan/gate.json"
HEALTH_NAME: Final = "health.json"
HEALTH_FILE: Final = f"{PLAN_DIR}/{HEALTH_NAME}"
"""Of a check of nodes alone: what they are held to (`health_wish.Health`)."""
SHARED_DIR: Final = "/gate/shared"
KEY_DIR: Final = "/gate/key"
TERMINATION_LOG: Final = "/dev/termination-log"

COORDINATOR_COMMAND: Final = ("python3", "-m", "gpufabric.validation.coordinator")
JUDGE_COMMAND: Final = ("python3", "-m", "gpufabric.validation.sidecar")
NODE_CHECK_COMMAND: Final = ("python3", "-m", "gpufabric.validation.node_check")
RANK_COMMAND: Final = ("/bin/sh", "/gate/lib/gpufabric/validation/rank.sh")

# --- environment ---
ENV_INDEX: Final = "JOB_COMPLETION_INDEX"
ENV_PYTHONPATH: Final = "PYTHONPATH"
ENV_NODE_NAME: Final = "GATE_NODE_NAME"
ENV_ROOT: Final = "GATE_ROOT"
ENV_NODES: Final = "GATE_NODES"
ENV_RANKS_PER_NODE: Final = "GATE_RANKS_PER_NODE"
ENV_RANKS: Final = "GATE_RANKS"
"""How many ranks the judge expects, where that is not gate.json's number: a pair of nodes instead of the whole group."""
ENV_HOST_PREFIX: Final = "GATE_HOST_PREFIX"
ENV_SERVICE: Final = "GATE_SERVICE"
ENV_START_SECONDS: Final = "GATE_START_SECONDS"
ENV_BENCHMARK_SECONDS: Final = "GATE_BENCHMARK_SECONDS"
ENV_MIN_BYTES: Final = "GATE_MIN_BYTES"
ENV_MAX_BYTES: Final = "GATE_MAX_BYTES"
ENV_FACTOR: Final = "GATE_FACTOR"
ENV_INTERFACE: Final = "GATE_INTERFACE"
ENV_SSH_PORT: Final = "GATE_SSH_PORT"
ENV_KEY_PORT: Final = "GATE_KEY_PORT"
ENV_DEADLINE_SECONDS: Final = "GATE_DEADLINE_SECONDS"
ENV_TERMINATION_LOG: Final = "GATE_TERMINATION_LOG"
ENV_BENCHMARK: Final = "GATE_BENCHMARK"
"""Command that replaces the default benchmark; split by the shell at blanks, gets no arguments added."""
ENV_ALSO: Final = "GATE_ALSO"
"""Command of a second benchmark, run by mpirun after the first has ended with 0, in what GATE_BENCHMARK_SECONDS has left."""
ALSO_MARKER: Final = "# gpufabric: the second benchmark begins"
"""The line of the output between the two; rank_ssh.sh prints it."""
ENV_FORWARD: Final = "GATE_FORWARD"
"""Names (separated by blanks) of further variables that mpirun hands to every rank."""
ENV_SCRIPT: Final = "GATE_ENVIRONMENT_SCRIPT"
"""The vendor's script that has set the fabric's environment: mpirun then hands on what begins with NCCL_ or CUDA_, too."""
ENV_BACKEND: Final = "GATE_BACKEND"
"""`torch`: every node starts its own ranks, which meet at index 0; else index 0 starts all ranks by mpirun over ssh."""
ENV_DCGM_LEVEL: Final = "GATE_DCGM_LEVEL"
"""Level of dcgmi diag in stage 0, where it is above 1; then also the seconds that stage 0 may take longer for it."""
ENV_DCGM_SECONDS: Final = "GATE_DCGM_SECONDS"
ENV_INSIDE: Final = "GATE_INSIDE"
"""Command of stage 1, run among GATE_INSIDE_RANKS ranks of this node within GATE_INSIDE_SECONDS. Unset: no stage 1."""
ENV_LOAD: Final = "GATE_LOAD"
"""`1`: the GPUs are read while stage 1 runs (load.sh)."""
ENV_INSIDE_RANKS: Final = "GATE_INSIDE_RANKS"
ENV_INSIDE_SECONDS: Final = "GATE_INSIDE_SECONDS"
ENV_ALONE: Final = "GATE_ALONE"
"""`1`: a node is opened alone; stage 1 is the whole measurement, no network run follows (single_node_ok)."""
SSH_PORT: Final = 2222
KEY_PORT: Final = 8022
MEETING_PORT: Final = 29500  # torch.distributed's own default; one higher inside a node

# --- pairs: who is it, after a group has failed (localise) ---
PAIR_ROUNDS: Final = 3
LEAST_NODES_FOR_PAIRS: Final = 3  # of two nodes the group's own run is the pair
_PAIR_START_SECONDS: Final = 180


def labels(group: str, component: str) -> dict[str, str]:
    """Labels of the gate's Jobs and pods. `component`: `coordinator` or `ranks`."""
    return {
        "app.kubernetes.io/name": "gpufabric-gate",
        "app.kubernetes.io/component": component,
        "gpufabric.dev/group": group,
    }


class ContractError(ValueError):
    """gate.json is not what the contract says; the message lists every problem as `path: problem`."""


@dataclass(frozen=True)
class Expectation:
    """What the judge holds the benchmark's output against.

    Sizes in bytes; bandwidths in 1e9 bytes per second (nccl-tests' unit). `transport_regex`: a line of the output must
    match it, or None where no transport is printed. `plausible_busbw_gbytes_per_s`: a value above three times this is
    absurd, hence unknown; None = no ceiling is known (NIC rate would be wrong: NVLS and in-network reduction exceed it).
    `also`: a second collective of the same sizes, in the same output; None: there is none.
    """

    backend: str
    collective: str
    ranks: int
    ranks_per_node: int
    min_bytes: int
    max_bytes: int
    factor: int
    floor_busbw_gbytes_per_s: float
    floor_source: str
    transport_regex: str | None = None
    plausible_busbw_gbytes_per_s: float | None = None
    also: also_wish.Also | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of gate.json. Without a second collective its key is absent: older fingerprints stay valid."""
        out = dict(self.__dict__)
        if self.also is None:
            del out["also"]
        else:
            out["also"] = self.also.to_dict()
        return out


@dataclass(frozen=True)
class Names:
    """Names of the gate's objects in its namespace; fixed by the plan, so that a killed `up` finds what it made."""

    coordinator_job: str
    rank_job: str
    service: str
    verdict: str


@dataclass(frozen=True)
class Timeouts:
    """Seconds: wait for nodes; for all rank pods to run; for the benchmark (inside rank.sh); for the rank Job as a whole."""

    nodes_s: int
    ranks_start_s: int
    benchmark_s: int
    rank_job_s: int

    def of_pair(self, stages_s: int = 0) -> "Timeouts":
        """A pair's: the nodes have the images and ran a rank a moment ago, so that a start, twice in a Job, takes less.

        `stages_s`: the time that these clocks have for stage 1 and a long stage 0; a pair does without.
        """
        start_s = min(self.ranks_start_s, _PAIR_START_SECONDS)
        rank_job_s = self.rank_job_s - 2 * (self.ranks_start_s - start_s) - stages_s
        return replace(self, ranks_start_s=start_s, rank_job_s=rank_job_s)


@dataclass(frozen=True)
class Gate:
    """gate.json. `nodes` means exactly that many; `run` is the user's counter; `fingerprint` a hash of what is validated.

    `stand_ins`: sentences on what is not the real thing here (a CPU pod for a GPU pod, ...); the verdict repeats them.
    `rank_job`: a complete batch/v1 Job; the coordinator adds only the ownerReference.
    """

    stack: str
    group: str
    namespace: str
    nodes: int
    node_selector: Mapping[str, str]
    wait_for_nodes: bool
    run: int
    fingerprint: str
    image: str
    expectation: Expectation
    names: Names
    timeouts: Timeouts
    rank_job: Mapping[str, Any]
    stand_ins: tuple[str, ...] = field(default=())
    health: health_wish.Health | None = None  # stage 0; None: a plan of an older version, no node is held to anything
    inside: inside_wish.Inside | None = None  # stage 1; None: it does not run
    single_node_ok: bool = False  # the controller may open a late node after stages 0 and 1 alone
    hold: str = "label"  # of HOLDS; how nodes are closed is no part of what is validated

    @property
    def stages_s(self) -> int:
        """Seconds that the clocks have for stage 1, and for stage 0 beyond its minute."""
        return (self.inside.seconds if self.inside else 0) + (self.health.dcgm_more_s if self.health else 0)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `parse` reads back to an equal Gate."""
        out: dict[str, Any] = {"version": VERSION, **self.__dict__}
        out["node_selector"] = dict(self.node_selector)
        out["rank_job"] = dict(self.rank_job)
        out["stand_ins"] = list(self.stand_ins)
        for part in ("health", "inside"):
            out[part] = out[part].to_dict() if out[part] else None
        out["expectation"] = self.expectation.to_dict()
        for part in ("names", "timeouts"):
            out[part] = dict(out[part].__dict__)
        return out


def rank_environment(
    *,
    nodes: int,
    ranks_per_node: int,
    host_prefix: str,
    service: str,
    start_s: int,
    benchmark_s: int,
    deadline_s: int,
    min_bytes: int,
    max_bytes: int,
    factor: int,
    interface: str,
) -> dict[str, str]:
    """Environment of `rank` and `judge`. `deadline_s`: after that the judge gives up (keep it below the Job's deadline)."""
    return {
        ENV_PYTHONPATH: LIB_DIR,
        ENV_NODES: str(nodes),
        ENV_RANKS_PER_NODE: str(ranks_per_node),
        ENV_HOST_PREFIX: host_prefix,
        ENV_SERVICE: service,
        ENV_START_SECONDS: str(start_s),
        ENV_BENCHMARK_SECONDS: str(benchmark_s),
        ENV_DEADLINE_SECONDS: str(deadline_s),
        ENV_MIN_BYTES: str(min_bytes),
        ENV_MAX_BYTES: str(max_bytes),
        ENV_FACTOR: str(factor),
        ENV_INTERFACE: interface,
        ENV_SSH_PORT: str(SSH_PORT),
        ENV_KEY_PORT: str(KEY_PORT),
    }


def shipped_files() -> dict[str, str]:
    """File name -> text of everything that belongs into /gate/lib/gpufabric/validation (the ConfigMap's data)."""
    here = Path(__file__).parent
    return {path.name: path.read_text("utf-8") for path in sorted(here.iterdir()) if path.suffix in {".py", ".sh"}}


def parse(text: str) -> Gate:
    """gate.json's text -> Gate. Raises ContractError with every problem found, one per line."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ContractError(f"gate.json: not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ContractError("gate.json: must be an object")
    if raw.get("version") != VERSION:
        raise ContractError(f"gate.json: version {raw.get('version')!r}; this program reads version {VERSION}")
    read = _GateReader()
    gate = read.gate(raw)
    if read.problems:
        raise ContractError("\n".join(read.problems))
    return gate


class _GateReader(Reader):
    def gate(self, raw: Mapping[str, Any]) -> Gate:
        known = set(Gate.__dataclass_fields__) | {"version"}
        self.problems += [f"{key}: unknown key" for key in sorted(set(raw) - known)]
        selector = self.take(raw, "node_selector", dict, "")
        if selector is not None and (not selector or not all(isinstance(v, str) for v in selector.values())):
            self.problems.append("node_selector: must map at least one label to a string")
        stand_ins = self.take(raw, "stand_ins", list, "") if "stand_ins" in raw else []
        hold = self.text(raw, "hold", "") if "hold" in raw else "label"
        if hold and hold not in HOLDS:
            self.problems.append(f"hold: {hold!r} is not one of {', '.join(HOLDS)}")
        return Gate(
            **{key: self.text(raw, key, "") for key in ("stack", "group", "namespace", "fingerprint", "image")},
            nodes=self.number(raw, "nodes", ""),
            node_selector=selector or {},
            wait_for_nodes=bool(self.take(raw, "wait_for_nodes", bool, "")),
            run=self.number(raw, "run", "", least=0),
            expectation=self.expectation(self.take(raw, "expectation", dict, "") or {}),
            names=Names(**self.texts(raw, "names", Names.__dataclass_fields__)),
            timeouts=Timeouts(**self.numbers(raw, "timeouts", Timeouts.__dataclass_fields__)),
            rank_job=self.rank_job(self.take(raw, "rank_job", dict, "") or {}),
            stand_ins=tuple(str(each) for each in stand_ins or []),
            health=health_wish.read(self, self.take(raw, "health", dict, "") or {}) if raw.get("health") is not None else None,
            inside=inside_wish.read(self, self.take(raw, "inside", dict, "") or {}) if raw.get("inside") is not None else None,
            single_node_ok=bool(self.take(raw, "single_node_ok", bool, "")) if "single_node_ok" in raw else False,
            hold=hold,
        )

    def expectation(self, raw: Mapping[str, Any]) -> Expectation:
        at = "expectation."
        self.problems += [f"{at}{key}: unknown key" for key in sorted(set(raw) - set(Expectation.__dataclass_fields__))]
        out = Expectation(
            backend=self.text(raw, "backend", at),
            collective=self.text(raw, "collective", at),
            floor_source=self.text(raw, "floor_source", at),
            **{key: self.number(raw, key, at) for key in ("ranks", "ranks_per_node", "min_bytes", "max_bytes")},
            factor=self.number(raw, "factor", at, least=2),
            floor_busbw_gbytes_per_s=self.real(raw, "floor_busbw_gbytes_per_s", at) or 0.0,
            transport_regex=None if raw.get("transport_regex") is None else self.text(raw, "transport_regex", at),
            plausible_busbw_gbytes_per_s=self.real(raw, "plausible_busbw_gbytes_per_s", at, optional=True),
            also=also_wish.read(self, self.take(raw, "also", dict, at) or {}, f"{at}also.") if "also" in raw else None,
        )
        if out.min_bytes > out.max_bytes:
            self.problems.append(f"{at}min_bytes: {out.min_bytes} is above max_bytes {out.max_bytes}")
        if out.transport_regex is not None:
            try:
                re.compile(out.transport_regex)
            except re.error as error:
                self.problems.append(f"{at}transport_regex: not a regular expression: {error}")
        return out

    def rank_job(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        if raw and (raw.get("kind") != "Job" or not all(isinstance(raw.get(part), dict) for part in ("metadata", "spec"))):
            self.problems.append("rank_job: must be a batch/v1 Job with metadata and spec")
        return raw
