"""The gate's contract: every path, name, label and port that two programs of the gate share.

The plan (ring 3) writes `gate.json` (see `gate_json`) and the manifests; the coordinator and the judge read them inside the
cluster. Both import the words from here, so that none is written twice. Everything is plain data; units stand in the names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

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


def labels(group: str, component: str) -> dict[str, str]:
    """Labels of the gate's Jobs and pods. `component`: `coordinator` or `ranks`."""
    return {
        "app.kubernetes.io/name": "gpufabric-gate",
        "app.kubernetes.io/component": component,
        "gpufabric.dev/group": group,
    }


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
