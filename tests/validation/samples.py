"""Shared inputs of the validation tests: a gate.json like the plan's, and rows of a healthy table."""

from typing import Any

from tests.validation.fake_api import RANK_LABELS

ENVIRONMENT = [
    {"name": "GATE_NODES", "value": "2"},
    {"name": "GATE_HOST_PREFIX", "value": "train-ranks"},
    {"name": "GATE_SERVICE", "value": "train-ranks"},
    {"name": "GATE_START_SECONDS", "value": "180"},
    {"name": "GATE_BENCHMARK_SECONDS", "value": "120"},
    {"name": "GATE_DEADLINE_SECONDS", "value": "330"},
]
GATE: dict[str, Any] = {
    "version": 1,
    "stack": "local",
    "group": "train",
    "namespace": "gpufabric-local-train",
    "nodes": 2,
    "node_selector": {"pool": "train"},
    "wait_for_nodes": True,
    "run": 1,
    "fingerprint": "0f1e2d",
    "image": "registry.local/gate:1",
    "stand_ins": ["CPU pods stand in for GPU pods"],
    "expectation": {
        "backend": "mpi",
        "collective": "all_reduce",
        "ranks": 2,
        "ranks_per_node": 1,
        "min_bytes": 1024,
        "max_bytes": 16777216,
        "factor": 4,
        "floor_busbw_gbytes_per_s": 0.03,
        "floor_source": "given in the spec",
        "transport_regex": None,
    },
    "names": {
        "coordinator_job": "train-gate",
        "rank_job": "train-ranks",
        "service": "train-ranks",
        "verdict": "train-verdict",
    },
    "timeouts": {"nodes_s": 300, "ranks_start_s": 180, "benchmark_s": 120, "rank_job_s": 540},
    "rank_job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train-ranks", "labels": RANK_LABELS},
        "spec": {
            "completions": 2,
            "parallelism": 2,
            "completionMode": "Indexed",
            "activeDeadlineSeconds": 540,
            "template": {
                "metadata": {"labels": RANK_LABELS},
                "spec": {"containers": [{"name": "rank", "env": ENVIRONMENT}, {"name": "judge", "env": ENVIRONMENT}]},
            },
        },
    },
}
