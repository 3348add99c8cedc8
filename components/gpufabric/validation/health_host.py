"""Stage 0, the host: adapters, memory limits, /dev/shm, huge pages, the interface. None: passed."""

import re
from typing import Final

from gpufabric.validation import health_readings
from gpufabric.validation.health_readings import Port, Readings
from gpufabric.validation.health_report import Finding
from gpufabric.validation.health_wish import NOT_CHECKED, WARNING, Health

_IPC_LOCK: Final = 14  # CAP_IPC_LOCK in linux/capability.h: with it memory may be pinned whatever the limit says
_UP: Final = ("up", "unknown")  # virtual interfaces may not report a carrier (kernel, operstates.rst)


def hca_count(wish: Health, readings: Readings) -> Finding | None:
    """Every word of NCCL_IB_HCA selects an adapter, and all of the machine's adapters are there."""
    at_least = f"at least {wish.hcas_per_node} adapters, " if wish.hcas_per_node else ""
    wanted = f"{at_least}one or more for each of {', '.join(wish.hcas)}"
    chosen = _selected(wish, readings)
    if isinstance(chosen, str):
        return Finding("hca_count", NOT_CHECKED, chosen, wanted)
    ports, idle = chosen
    devices = list(dict.fromkeys(port.device for port in ports))
    if idle or not devices or len(devices) < wish.hcas_per_node:
        none = f"; none for {', '.join(idle)}" if idle else ""
        return _bad(wish, "hca_count", f"{len(devices)} adapters ({', '.join(devices[:8]) or 'none'}){none}", wanted)
    return None


def hca_state(wish: Health, readings: Readings) -> Finding | None:
    """NCCL leaves out a port that is not ACTIVE without a word: the job runs, with a rail less."""
    wanted = "every selected port ACTIVE and LinkUp"
    ports = _ports(wish, readings)
    if isinstance(ports, str):
        return Finding("hca_state", NOT_CHECKED, ports, wanted)
    if any(not port.state or not port.physical for port in ports):
        return Finding("hca_state", NOT_CHECKED, "a port without a state", wanted)
    down = [f"{port.name} {port.state}, {port.physical}" for port in ports if not port.up]
    return _bad(wish, "hca_state", "; ".join(down[:4]) + _more(down), wanted) if down else None


def hca_rate(wish: Health, readings: Readings) -> Finding | None:
    """The rate of each active port; where none is known they are at least compared with each other."""
    known = wish.hca_gbits_per_s
    wanted = f"{known} Gbit/s on every port" if known else "the same rate on every port"
    ports = _ports(wish, readings)
    if isinstance(ports, str):
        return Finding("hca_rate", NOT_CHECKED, ports, wanted)
    rates = {port.name: port.gbits_per_s for port in ports if port.up}
    read = {name: rate for name, rate in rates.items() if rate is not None}
    least = known or max(read.values(), default=0)
    slow = [f"{name} {rate:g} Gbit/s" for name, rate in read.items() if rate < least]
    if slow:
        severity = wish.rule("hca_rate").severity if known else WARNING
        return Finding("hca_rate", severity, "; ".join(slow[:4]) + _more(slow), wanted)
    if not read or len(read) < len(rates):
        return Finding("hca_rate", NOT_CHECKED, "a port without a rate" if rates else "no active port", wanted)
    if not known and len(read) == 1:
        return Finding("hca_rate", NOT_CHECKED, f"{least:g} Gbit/s on the only port, and no rate is known", wanted)
    return None


def rdma_device(wish: Health, readings: Readings) -> Finding | None:
    """/dev/infiniband/uverbs*: without them the verbs library finds no device, whatever /sys shows."""
    wanted = "an RDMA device file (/dev/infiniband/uverbs*) for each adapter"
    files = health_readings.listed(readings["rdma_devices"].text, "end of devices")
    if files is None or readings["rdma_devices"].code != 0:
        return Finding("rdma_device", NOT_CHECKED, readings["rdma_devices"].unread, wanted)
    if not files:
        return _bad(wish, "rdma_device", "none", wanted)
    ports = _ports(wish, readings)
    adapters = 0 if isinstance(ports, str) else len({port.device for port in ports})
    if len(files) < adapters:
        return Finding("rdma_device", WARNING, f"{len(files)} for {adapters} adapters", wanted)
    return None


def memlock(wish: Health, readings: Readings) -> Finding | None:
    """RDMA pins memory: the limit must be unlimited, or the container must hold IPC_LOCK."""
    wanted = "unlimited, or the capability IPC_LOCK"
    said = health_readings.key_values(readings["memlock"].text, " ")
    limit, mask = said.get("memlock", ""), said.get("capabilities", "")
    held = re.fullmatch("[0-9a-fA-F]{1,16}", mask)
    if limit == "unlimited" or (held and int(mask, 16) >> _IPC_LOCK & 1):
        return None
    number = health_readings.whole(limit)
    if number is None or not held:
        return Finding("memlock", NOT_CHECKED, readings["memlock"].unread, wanted)
    return _bad(wish, "memlock", f"{number} KiB, without IPC_LOCK", wanted)


def shm(wish: Health, readings: Readings) -> Finding | None:
    """Shared memory: NCCL's shared-memory transport fails on a container's default of 64 MiB."""
    wanted = f"at least {wish.shm_mib} MiB"
    sizes = [
        health_readings.whole(cells[1])
        for line in readings["shm"].text.split("\n")
        if len(cells := line.split()) >= 6 and cells[-1] == "/dev/shm"  # noqa: S108  # the pod's mount, only looked at
    ]
    if readings["shm"].code != 0 or len(sizes) != 1 or sizes[0] is None:
        return Finding("shm", NOT_CHECKED, readings["shm"].unread, wanted)
    size_mib = sizes[0] // 1024
    return None if size_mib >= wish.shm_mib else _bad(wish, "shm", f"{size_mib} MiB", wanted)


def hugepages(wish: Health, readings: Readings) -> Finding | None:
    """Huge pages of the default size."""
    wanted = f"at least {wish.hugepages_mib} MiB"
    said = health_readings.key_values(readings["hugepages"].text, ":")
    total = health_readings.whole(said.get("HugePages_Total", ""))
    size_kib = health_readings.whole(said.get("Hugepagesize", "").removesuffix(" kB"))
    if total is None or size_kib is None:
        return Finding("hugepages", NOT_CHECKED, readings["hugepages"].unread, wanted)
    size_mib = total * size_kib // 1024
    return None if size_mib >= wish.hugepages_mib else _bad(wish, "hugepages", f"{size_mib} MiB", wanted)


def interface(wish: Health, readings: Readings) -> Finding | None:
    """The pod's interface for bootstrap and TCP exists and is up."""
    wanted = f"{wish.interface}, up"
    lines = [line.split(" ", 1) for line in readings["interface"].text.split("\n")]
    names = [parts[1] for parts in lines if parts[0] == "has" and len(parts) == 2]
    states = [parts[1] for parts in lines if parts[0] == "state" and len(parts) == 2]
    if readings["interface"].code != 0 or not names:
        return Finding("interface", NOT_CHECKED, readings["interface"].unread, wanted)
    if wish.interface not in names:
        return _bad(wish, "interface", f"no {wish.interface}; the pod has {', '.join(names[:8])}", wanted)
    if len(states) != 1:
        return Finding("interface", NOT_CHECKED, readings["interface"].unread, wanted)
    return None if states[0] in _UP else _bad(wish, "interface", f"{wish.interface} is {states[0]}", wanted)


def _selected(wish: Health, readings: Readings) -> tuple[list[Port], list[str]] | str:
    """Selected ports and words that select none, or why the list cannot be had."""
    reading = readings["ports"]
    if reading.code != 0 or health_readings.listed(reading.text, "end of ports") is None:
        return readings["ports"].unread
    return health_readings.selected(health_readings.ports(reading.text), wish.hcas)


def _ports(wish: Health, readings: Readings) -> list[Port] | str:
    chosen = _selected(wish, readings)
    if isinstance(chosen, str):
        return chosen
    return chosen[0] or "no adapter is selected"


def _bad(wish: Health, check: str, measured: str, wanted: str) -> Finding:
    return Finding(check, wish.rule(check).severity, measured, wanted)


def _more(items: list[str], most: int = 4) -> str:
    return f"; and {len(items) - most} more" if len(items) > most else ""
