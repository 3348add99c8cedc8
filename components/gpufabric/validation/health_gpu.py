"""Stage 0, GPUs: what nvidia-smi, dcgmi and the kernel's log say, held against the wish. None: passed.

A value that cannot be read is `not checked`, never good: the driver prints [N/A] for what a GPU lacks, and [Unknown Error] or
ERR! for what it could not ask.
"""

import re
from typing import Final

from gpufabric.validation import health_readings
from gpufabric.validation.health_readings import Readings
from gpufabric.validation.health_report import Finding
from gpufabric.validation.health_values import IDENTITY, per_gpu
from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, WARNING, Health

_QUERIES: Final = ("gpus", "ecc", "rows", "throttle", "nvlink")
_NO_DEVICES: Final = re.compile(r"No devices were found", re.IGNORECASE)
_BROKEN: Final = re.compile(
    r"Driver/library version mismatch|couldn't communicate with the NVIDIA driver|Failed to initialize NVML|GPU is lost"
    r"|Unable to determine the device handle|fallen off the bus|requires (?:a )?reset|reset required",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(r"\[Unknown Error\]|\bERR!")
_RECOVERY: Final = re.compile(r"to 0x[0-9a-f]+ \(([^)]*)\)", re.IGNORECASE)
_KEY_OF_ROWS: Final = "gpu_uuid"


def driver(wish: Health, readings: Readings) -> Finding | None:
    """Whether the driver answers at all: a mismatch or a lost GPU shows in any of the queries."""
    wanted = "nvidia-smi answers for every GPU"
    for name in _QUERIES:
        if found := _line(_BROKEN, readings[name].text):
            return Finding("gpu_driver", wish.rule("gpu_driver").severity, found, wanted)
    for name in _QUERIES:
        if found := _line(_ERROR, readings[name].text):
            return Finding("gpu_driver", WARNING, f"{name}: {found}", wanted)
    if not health_readings.columns(readings["gpus"].text, IDENTITY) or readings["gpus"].code != 0:
        return Finding("gpu_driver", NOT_CHECKED, readings["gpus"].unread, wanted)
    return None


def count(wish: Health, readings: Readings) -> Finding | None:
    """As many GPUs as the pod asks for; without nvidia-smi their device files are counted."""
    wanted = f"{wish.gpus}"
    text = readings["gpus"].text
    rows = health_readings.columns(text, IDENTITY)
    seen, how = len({cells[0] for cells in rows.values()}), "GPUs answer nvidia-smi"
    if not rows and not _NO_DEVICES.search(text):
        files = health_readings.listed(readings["gpu_devices"].text, "end of devices")
        if files is None or not readings["gpus"].why_not.endswith("is not in the image"):
            return Finding("gpu_count", NOT_CHECKED, readings["gpus"].unread, wanted)
        seen, how = len(set(files)), "device files /dev/nvidia*"
    if seen == wish.gpus:
        return Finding("gpu_count", NOT_CHECKED, readings["gpus"].unread, wanted) if rows and readings["gpus"].code else None
    severity = wish.rule("gpu_count").severity if seen < wish.gpus else WARNING
    return Finding("gpu_count", severity, f"{seen} {how}", wanted)


def nvlink(wish: Health, readings: Readings) -> Finding | None:
    """Active links of each GPU. A GPU whose links are all down prints one sentence instead, so the active ones are counted."""
    known = wish.nvlinks_per_gpu
    wanted = f"{known} active links per GPU" if known else "no inactive link"
    values, some = {}, False
    for gpu, (active, inactive, other) in health_readings.links(readings["nvlink"].text).items():
        some = some or active > 0
        text = f"{active} active" + (f", {inactive} inactive" if inactive > 0 else ", all inactive" if inactive < 0 else "")
        values[gpu] = f"{text}, {other} unreadable" if other else text

    def good(text: str) -> bool | None:
        if "unreadable" in text:
            return None
        number = int(text.split(maxsplit=1)[0])
        if known:
            return number >= known and "inactive" not in text
        return None if number == 0 else "inactive" not in text

    found = per_gpu(wish, readings, "nvlink", reading="nvlink", values=values, good=good, wanted=wanted)
    if found is not None and found.severity == wish.rule("nvlink").severity and not known:
        return Finding("nvlink", WARNING, found.measured, wanted)
    return found


def ecc(wish: Health, readings: Readings) -> Finding | None:
    """Uncorrected ECC errors since the driver was loaded."""
    values = _column(readings, "ecc", ("index", "ecc.errors.uncorrected.volatile.total"), 0)
    wanted = f"at most {wish.ecc_most_errors} uncorrected errors"

    def good(text: str) -> bool | None:
        number = health_readings.whole(text)
        return None if number is None else number <= wish.ecc_most_errors

    return per_gpu(wish, readings, "ecc", reading="ecc", values=values, good=good, wanted=wanted)


def rows_pending(wish: Health, readings: Readings) -> Finding | None:
    """Rows that wait for a reset to be remapped."""
    return _remapped(wish, readings, "rows_pending", 0, "no row remapping is pending")


def rows_failure(wish: Health, readings: Readings) -> Finding | None:
    """A row could not be remapped: the spare rows are used up."""
    return _remapped(wish, readings, "rows_failure", 1, "no row remapping has failed")


def _remapped(wish: Health, readings: Readings, check: str, place: int, wanted: str) -> Finding | None:
    values = _column(readings, "rows", (_KEY_OF_ROWS, "remapped_rows.pending", "remapped_rows.failure"), place)
    uuids = {cells[0]: gpu for gpu, cells in health_readings.columns(readings["gpus"].text, IDENTITY).items()}
    named = {uuids.get(uuid, uuid): text for uuid, text in values.items()}
    return per_gpu(
        wish, readings, check, reading="rows", values=named, good={"no": True, "yes": False}.get, wanted=wanted, lower=True
    )


def recovery(wish: Health, readings: Readings) -> Finding | None:
    """What the driver itself asks for: a reset, a reboot, a drain. Older drivers do not know the question."""
    values = _column(readings, "recovery", ("index", "gpu_recovery_action"), 0)
    asks = ("reset", "reboot", "drain", "recover")

    def good(text: str) -> bool | None:
        return True if text == "none" else False if any(word in text for word in asks) else None

    return per_gpu(
        wish, readings, "recovery", reading="recovery", values=values, good=good, wanted="no recovery is asked for", lower=True
    )


def persistence(wish: Health, readings: Readings) -> Finding | None:
    """Persistence mode: without it the driver unloads when idle, and every start takes seconds."""
    values = {gpu: cells[2] for gpu, cells in health_readings.columns(readings["gpus"].text, IDENTITY).items()}
    known = {"enabled": True, "disabled": False}.get
    return per_gpu(wish, readings, "persistence", reading="gpus", values=values, good=known, wanted="enabled", lower=True)


def xid(wish: Health, readings: Readings) -> Finding | None:
    """XIDs of the kernel's log within the window. A pod may seldom read that log: then this is not checked."""
    wanted = f"no XID of the list in the last {wish.xid_window_s} s"
    reading = readings["xid_kernel"]
    if reading.why_not or health_readings.listed(reading.text, "end of log") is None:
        return Finding("xid", NOT_CHECKED, f"kernel log: {reading.why_not or 'the reading is cut off'}", wanted)
    uptime = health_readings.seconds(readings["uptime"].text)
    lines, unread = health_readings.xids(reading.text)
    said: dict[str, list[str]] = {}
    for line in lines:
        if uptime is not None and line.at_s is not None and uptime - line.at_s > wish.xid_window_s:
            continue
        known = wish.xids.get(line.code)
        severity, action = (known.severity, known.action) if known else (WARNING, "not in the list")
        if line.code == "154" and (asked := _RECOVERY.search(line.text)):  # the text carries the action
            severity, action = ("ignore", "") if asked[1].lower() == "none" else (severity, asked[1])
        said.setdefault(severity, []).append(f"XID {line.code} on {line.device} ({action})")
    if unread:
        said.setdefault(WARNING, []).append(f"{unread} XID lines that cannot be read")
    severity = next((each for each in (FATAL, WARNING) if each in said), "")
    if not severity:
        return None
    texts = list(dict.fromkeys(said[severity]))
    return Finding("xid", severity, "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else ""), wanted)


def dcgm(wish: Health, readings: Readings) -> Finding | None:
    """`dcgmi diag` per test and GPU; its exit code says nothing (DCGM issues 198, 284)."""
    wanted = f"every test of dcgmi diag -r {wish.dcgm_level} passes"
    results = health_readings.diagnostics(readings["dcgm"].text)
    if not results:
        return Finding("dcgm", NOT_CHECKED, readings["dcgm"].unread, wanted)
    for status, severity in (("fail", wish.rule("dcgm").severity), ("warn", WARNING)):
        if bad := [name for name, said in results if said.startswith(status)]:
            return Finding("dcgm", severity, f"{status}: {', '.join(bad)}", wanted)
    odd = [f"{name} {said}" for name, said in results if said not in ("pass", "skip")]
    if odd or not any(said == "pass" for _, said in results):
        return Finding("dcgm", NOT_CHECKED, ", ".join(odd[:3]) or "every test was skipped", wanted)
    return None


def _column(readings: Readings, name: str, names: tuple[str, ...], place: int) -> dict[str, str]:
    return {key: cells[place] for key, cells in health_readings.columns(readings[name].text, names).items()}


def _line(pattern: re.Pattern[str], text: str) -> str:
    return next((line.strip() for line in text.split("\n") if pattern.search(line)), "")
