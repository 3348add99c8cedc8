"""Shared inputs of the validation tests: a gate.json like the plan's, and rows of a healthy table."""

from typing import Any

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
    "timeouts": {"nodes_s": 300, "ranks_start_s": 180, "benchmark_s": 120, "rank_job_s": 330},
    "rank_job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train-ranks"},
        "spec": {"completions": 2, "completionMode": "Indexed", "template": {"spec": {"containers": [{"name": "rank"}]}}},
    },
}
