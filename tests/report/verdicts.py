"""Verdicts for tests, made up: one of each kind that a page has to show."""

import copy
from collections.abc import Mapping
from typing import Any


def table(busbw: float, sizes: int = 11, first: int = 23) -> list[list[float | None]]:
    """Rows that rise to ``busbw`` GB/s, as an all-reduce over a fabric does."""
    rows: list[list[float | None]] = []
    for step in range(sizes):
        size = 2 ** (first + step)
        reached = round(busbw / (1 + 6 * 0.55**step), 4)
        time = round(size / reached / 1000 * 1.875, 2)
        rows.append(
            [size, time, round(reached / 1.875, 4), reached, 0, time, round(reached / 1.9, 4), round(reached * 0.985, 4), 0]
        )
    rows[-1][3] = busbw
    return rows


PASS: dict[str, Any] = {
    "version": 1,
    "outcome": "pass",
    "reason": "busbw 452.3 GB/s at 8 GiB, at least 300 GB/s",
    "fix": "nothing; the nodes are open to jobs",
    "stack": "prod",
    "group": "train",
    "nodes": ["gpu-a", "gpu-b"],
    "backend": "nccl",
    "collective": "all_reduce",
    "ranks": 16,
    "size_bytes": 8589934592,
    "busbw_gbytes_per_s": 452.3,
    "algbw_gbytes_per_s": 241.2267,
    "latency_us": 131.07,
    "floor_busbw_gbytes_per_s": 300,
    "floor_source": "from the baseline table: derived, 8x400G InfiniBand, 2026-11",
    "healthy_busbw_gbytes_per_s": [387, 469],
    "table": table(452.3),
    "inside": {
        "what": "8 GPUs of one node",
        "size_bytes": 17179869184,
        "floor_busbw_gbytes_per_s": 430,
        "floor_source": "from the baseline table: measured, one node, 2026-11",
        "nodes": {
            "gpu-a": {
                "outcome": "pass",
                "reason": "busbw 478.5 GB/s",
                "cause": "",
                "busbw_gbytes_per_s": 478.5,
                "size_bytes": 17179869184,
            },
            "gpu-b": {
                "outcome": "pass",
                "reason": "busbw 476.25 GB/s",
                "cause": "",
                "busbw_gbytes_per_s": 476.25,
                "size_bytes": 17179869184,
            },
        },
    },
    "image": "ghcr.io/coreweave/nccl-tests:13.2.1",
    "run": 3,
    "fingerprint": "857e6c20",
    "stand_ins": [],
    "started_at": "2026-11-29T18:00:00Z",
    "finished_at": "2026-11-29T18:01:12Z",
}
FAIL: dict[str, Any] = {
    "version": 1,
    "outcome": "fail",
    "reason": "busbw 0.0078 GB/s at 16 MiB, wanted at least 0.02 GB/s",
    "fix": "find the slow link: compare NIC speed, error counters and cables of these nodes, repair or replace the node, "
    "then run `pulumi up` again: a gate that did not pass is run anew",
    "stack": "dev",
    "group": "slow",
    "nodes": ["n0", "n1", "n2", "n3"],
    "backend": "mpi",
    "collective": "all_reduce",
    "ranks": 4,
    "size_bytes": 16777216,
    "busbw_gbytes_per_s": 0.0078,
    "algbw_gbytes_per_s": 0.0052,
    "latency_us": 74.14,
    "floor_busbw_gbytes_per_s": 0.02,
    "floor_source": "given in the spec",
    "table": [
        [1024, 74.14, 0.0138, 0.0138, 0, None, None, None, None],
        [65536, 1484.75, 0.0441, 0.0441, 0, None, None, None, None],
        [1048576, 134000.5, 0.0078, 0.0081, 0, None, None, None, None],
        [16777216, 2150000.25, 0.0052, 0.0078, 0, None, None, None, None],
    ],
    "pairs": [
        {"round": 1, "nodes": ["n0", "n1"], "outcome": "pass", "busbw_gbytes_per_s": 0.0812},
        {"round": 1, "nodes": ["n2", "n3"], "outcome": "fail", "busbw_gbytes_per_s": 0.0079},
        {"round": 2, "nodes": ["n2", "n0"], "outcome": "pass", "busbw_gbytes_per_s": 0.0703},
        {"round": 2, "nodes": ["n3", "n1"], "outcome": "fail", "busbw_gbytes_per_s": 0.0077},
        {"round": 3, "nodes": ["n3", "n0"], "outcome": "unknown", "busbw_gbytes_per_s": None},
    ],
    "findings": [
        {
            "kind": "slow_node",
            "nodes": ["n3"],
            "busbw_gbytes_per_s": 0.0079,
            "text": "n3 is slow with n2 and n1, which are good with others",
        },
        {"kind": "undecided", "nodes": [], "busbw_gbytes_per_s": None, "text": "n3 with n0 gave no result"},
    ],
    "health": [
        {"node": "n1", "what": "hugepages", "measured": "0", "wanted": "5120 MiB", "severity": "note", "fix": ""},
        {
            "node": "n3",
            "what": "link speed of eth0",
            "measured": "100 Mbit/s",
            "wanted": "1000 Mbit/s",
            "severity": "fatal",
            "fix": "check the cable and the switch port",
        },
    ],
    "image": "localhost/gpufabric/gate:1",
    "run": 2,
    "fingerprint": "11aa22bb",
    "stand_ins": ["CPU processes over TCP stand in for GPUs: this measures the nodes' network, no GPU and no RDMA"],
    "started_at": "2026-11-29T18:00:00Z",
    "finished_at": "2026-11-29T18:04:30Z",
}


def changed(base: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """A copy with other values."""
    return {**copy.deepcopy(dict(base)), **values}
