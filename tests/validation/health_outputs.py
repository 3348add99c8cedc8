"""Outputs of nvidia-smi, dcgmi and the kernel as their documentation and public reports show them, for a node of n GPUs.

No GPU stands behind them: they are written from the documented formats, the odd ones after public issues (named in the tests).
"""

import json
from typing import Any

from gpufabric.validation.health_readings import Reading, Readings

IDENTITY = (
    "index, uuid, name, persistence_mode, pcie.link.gen.current, pcie.link.gen.max, "
    "pcie.link.width.current, pcie.link.width.max"
)
REASONS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
NA = "[N/A]"


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-1111-2222-3333-444455556666"


def gpus(count: int = 8, **cells: dict[int, str]) -> str:
    """`cells`: persistence, gen, gen_most, width, width_most by GPU."""
    lines = [IDENTITY]
    for gpu in range(count):
        row = [str(gpu), uuid(gpu), "NVIDIA H100 80GB HBM3"]
        for name, value in {"persistence": "Enabled", "gen": "5", "gen_most": "5", "width": "16", "width_most": "16"}.items():
            row.append(cells.get(name, {}).get(gpu, value))
        lines.append(", ".join(row))
    return "\n".join(lines) + "\n"


def column(name: str, value: str, count: int = 8, odd: dict[int, str] | None = None) -> str:
    """A query of one field: `odd` holds the values of GPUs that differ."""
    return "\n".join([f"index, {name}", *(f"{gpu}, {(odd or {}).get(gpu, value)}" for gpu in range(count))]) + "\n"


def ecc(odd: dict[int, str] | None = None, count: int = 8) -> str:
    return column("ecc.errors.uncorrected.volatile.total", "0", count, odd)


def rows(pending: dict[int, str] | None = None, failure: dict[int, str] | None = None, count: int = 8) -> str:
    lines = ["gpu_uuid, remapped_rows.pending, remapped_rows.failure"]
    lines += [f"{uuid(g)}, {(pending or {}).get(g, 'No')}, {(failure or {}).get(g, 'No')}" for g in range(count)]
    return "\n".join(lines) + "\n"


def throttle(active: dict[int, str] | None = None, count: int = 8, prefix: str = "clocks_event_reasons") -> str:
    lines = ["index, " + ", ".join(f"{prefix}.{reason}" for reason in REASONS)]
    for gpu in range(count):
        hot = (active or {}).get(gpu, "")
        lines.append(f"{gpu}, " + ", ".join("Active" if reason == hot else "Not Active" for reason in REASONS))
    return "\n".join(lines) + "\n"


def nvlink(odd: dict[int, str] | None = None, count: int = 8, links: int = 18) -> str:
    """`odd`: text in place of a GPU's links."""
    out = []
    for gpu in range(count):
        out.append(f"GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: {uuid(gpu)})")
        out.append((odd or {}).get(gpu) or "\n".join(f"\t Link {link}: 26.562 GB/s" for link in range(links)))
    return "\n".join(out) + "\n"


def link_down(down: int, links: int = 18) -> str:
    return "\n".join(f"\t Link {link}: {'<inactive>' if link == down else '26.562 GB/s'}" for link in range(links))


ALL_DOWN = "NVML: Unable to retrieve NVLink information as all links are inActive"


def dcgm(odd: dict[tuple[str, int], str] | None = None, count: int = 8, version: int = 4) -> str:
    """`dcgmi diag -r 1 -j`; `odd`: status by test and GPU."""
    tests = ("software", "memory") if version == 4 else ("Denylist", "NVML Library", "Page Retirement/Row Remap")
    made = []
    for name in tests:
        results: list[dict[str, Any]] = []
        for gpu in range(count):
            status = (odd or {}).get((name, gpu), "Pass")
            entity = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu} if version == 4 else {"gpu_id": str(gpu)}
            results.append({**entity, "status": status})
        made.append({"name": name, "results": results})
    body = {"test_categories": [{"category": "Deployment", "tests": made}]}
    key = "DCGM Diagnostic" if version == 4 else "DCGM GPU Diagnostic"
    return json.dumps({key: body, "Driver Version Detected": "570.124.06", "GPU Device IDs": ["2330"] * count})


def xids(*lines: tuple[float, str]) -> str:
    """The kernel's XID lines at seconds since boot."""
    return "\n".join([*(f"[{at:12.6f}] NVRM: Xid (PCI:0000:3b:00): {text}" for at, text in lines), "end of log"]) + "\n"


def ports(count: int = 8, odd: dict[int, str] | None = None, device: str = "ibp") -> str:
    """`odd`: the cells after the port's number."""
    good = "4: ACTIVE|5: LinkUp|400 Gb/sec (4X NDR)|InfiniBand"
    lines = [f"{device}{each}|1|{(odd or {}).get(each, good)}" for each in range(count)]
    return "\n".join([*lines, "end of ports"]) + "\n"


def devices(*names: str) -> str:
    return "\n".join([*names, "end of devices"]) + "\n"


MEMINFO = """MemTotal:       2113404596 kB
HugePages_Total:    5128
HugePages_Free:     5128
Hugepagesize:       2048 kB
Hugetlb:        10502144 kB
"""
SHM = """Filesystem     1024-blocks  Used Available Capacity Mounted on
tmpfs           1056702296     0 1056702296       0% /dev/shm
"""
HEALTHY = {
    "gpus": gpus(),
    "ecc": ecc(),
    "rows": rows(),
    "throttle": throttle(),
    "recovery": column("gpu_recovery_action", "None"),
    "nvlink": nvlink(),
    "dcgm": dcgm(),
    "xid_kernel": xids(),
    "uptime": "400000.12 12345.00\n",
    "gpu_devices": devices(*(f"/dev/nvidia{gpu}" for gpu in range(8))),
    "ports": ports(),
    "rdma_devices": devices(*(f"/dev/infiniband/uverbs{each}" for each in range(8))),
    "memlock": "memlock 8192\ncapabilities 00000000a80465fb\n",  # containerd's default set with IPC_LOCK
    "shm": SHM,
    "hugepages": MEMINFO,
    "interface": "state up\nhas eth0\nhas lo\n",
}


def readings(**changes: str | Reading) -> Readings:
    """A healthy node's readings with other texts; a Reading also says the exit code."""
    texts: dict[str, str | Reading] = {**HEALTHY, **changes}
    return Readings({name: each if isinstance(each, Reading) else Reading(each, 0) for name, each in texts.items()})
