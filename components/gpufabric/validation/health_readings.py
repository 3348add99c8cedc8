"""The readings that health.sh left, and how their texts are read. No text makes anything here raise.

Lines end at a newline and nowhere else: `splitlines` would also break at control characters inside a damaged one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_MOST_BYTES: Final = 1 << 20
_TIMED_OUT: Final = 124
_NOT_FOUND: Final = 127

# [0-9] and not \d, which takes digits of all scripts: no program prints those, so they are damage.
_GPU: Final = re.compile(r"GPU ([0-9]{1,3}):")
_LINK: Final = re.compile(r"Link ([0-9]{1,3}): (.+)")
_SPEED: Final = re.compile(r"[0-9]+(?:\.[0-9]+)? GB/s")
_ALL_INACTIVE: Final = re.compile(r"all links are inactive", re.IGNORECASE)
_XID: Final = re.compile(r"(?:\[\s*([0-9]{1,12}(?:\.[0-9]+)?)\]\s*)?NVRM: Xid \((?:PCI:)?([^)]*)\):\s*([0-9]{1,5})\b(.*)")
_RATE: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]+)?) Gb/sec")


@dataclass(frozen=True)
class Reading:
    """Output and exit code of one program; code None: nothing was left."""

    text: str = ""
    code: int | None = None

    @property
    def why_not(self) -> str:
        """Why it cannot be used; empty if the program ended well."""
        if self.code == 0:
            return ""
        if self.code is None:
            return "no reading was left"
        if self.code == _TIMED_OUT:
            return "no answer in time"
        if self.code == _NOT_FOUND:
            return f"{self._last.removesuffix(': not found').rsplit(':', 1)[-1].strip() or 'the program'} is not in the image"
        return f"{self._last or 'no output'} (exit code {self.code})"

    @property
    def unread(self) -> str:
        """Why a check made nothing of it: it cannot be used, or its text says nothing that is known."""
        return self.why_not or f"not understood: {self._last or 'no output'}"

    @property
    def _last(self) -> str:
        return next((line.strip() for line in reversed(self.text.split("\n")) if line.strip()), "")


@dataclass(frozen=True)
class Readings:
    """All readings of a node by name."""

    by_name: Mapping[str, Reading] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Reading:
        return self.by_name.get(name, Reading())


def load(folder: Path) -> Readings:
    """What health.sh left in the folder; what cannot be read is as if it were not there."""
    found = {}
    try:
        codes = sorted(folder.glob("*.code"))
    except OSError:
        codes = []
    for path in codes:
        try:
            code = path.read_text("ascii", "replace").strip()
            with path.with_suffix("").open("rb") as file:
                text = file.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            text = ""
        found[path.stem] = Reading(text, int(code) if re.fullmatch("[0-9]{1,3}", code) else None)
    return Readings(found)


def columns(text: str, names: Sequence[str]) -> dict[str, list[str]]:
    """nvidia-smi's CSV: first cell -> the others. Rows of another width, and all without the asked header, are left out."""
    out: dict[str, list[str]] = {}
    headed = False
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(names):
            continue
        if all(map(_heads, cells, names)):
            headed = True
        elif headed and cells[0]:
            out[cells[0]] = cells[1:]
    return out


def _heads(cell: str, name: str) -> bool:
    """A column's head is the name that was asked for, perhaps with a unit; PCIe names differ between drivers (gpucurrent)."""
    return cell.partition(" [")[0] == name or (cell.startswith("pcie.link.") and name.startswith("pcie.link."))


def whole(text: str) -> int | None:
    """A whole number from 0 up."""
    return int(text) if re.fullmatch("[0-9]{1,15}", text) else None


def links(text: str) -> dict[str, tuple[int, int, int]]:
    """`nvidia-smi nvlink -s`: GPU -> active links, inactive links, lines that say neither. All inactive: (0, -1, 0)."""
    out: dict[str, tuple[int, int, int]] = {}
    gpu = ""
    for line in text.split("\n"):
        said = line.strip()
        if match := _GPU.match(said):
            gpu = match[1]
            out[gpu] = (0, 0, 0)
        elif not gpu:
            continue
        elif _ALL_INACTIVE.search(said):
            out[gpu] = (0, -1, 0)
        elif match := _LINK.fullmatch(said):
            active, inactive, other = out[gpu]
            is_active, is_inactive = bool(_SPEED.fullmatch(match[2])), "inactive" in match[2].lower()
            out[gpu] = (active + is_active, inactive + is_inactive, other + (not is_active and not is_inactive))
        elif said:
            active, inactive, other = out[gpu]
            out[gpu] = (active, inactive, other + 1)
    return out


@dataclass(frozen=True)
class XidLine:
    """One XID of the kernel's log. `at_s`: seconds since boot, None if the line does not say."""

    at_s: float | None
    device: str
    code: str
    text: str


def xids(text: str) -> tuple[list[XidLine], int]:
    """The XIDs, and how many lines speak of one and cannot be read."""
    out, unread = [], 0
    for line in text.split("\n"):
        if match := _XID.search(line):
            out.append(XidLine(float(match[1]) if match[1] else None, match[2], str(int(match[3])), match[4]))
        elif "Xid" in line:
            unread += 1
    return out, unread


def seconds(text: str) -> float | None:
    """The first number of /proc/uptime."""
    match = re.match(r"\s*([0-9]{1,12}(?:\.[0-9]+)?)(?:\s|$)", text)
    return float(match[1]) if match else None


@dataclass(frozen=True)
class Port:
    """A port of a host channel adapter as /sys has it; `gbits_per_s` None where no rate is said."""

    device: str
    port: str
    state: str
    physical: str
    gbits_per_s: float | None

    @property
    def name(self) -> str:
        return self.device if self.port == "1" else f"{self.device}:{self.port}"

    @property
    def up(self) -> bool:
        return self.state.endswith("ACTIVE") and not self.state.endswith("INACTIVE") and self.physical.endswith("LinkUp")


def ports(text: str) -> list[Port]:
    """health.sh's lines `device|port|state|phys_state|rate|link_layer`."""
    out = []
    for line in text.split("\n"):
        cells = line.split("|")
        if len(cells) != 6 or not cells[0]:
            continue
        rate = _RATE.match(cells[4])
        out.append(Port(cells[0], cells[1], cells[2].strip(), cells[3].strip(), float(rate[1]) if rate else None))
    return out


def selected(ports_: Sequence[Port], hcas: Sequence[str]) -> tuple[list[Port], list[str]]:
    """The ports that NCCL_IB_HCA selects, and the words that select none. NCCL reads `^` and `=` before the first word only."""
    joined = ",".join(hcas)
    excluding, joined = joined.startswith("^"), joined.removeprefix("^")
    exact, joined = joined.startswith("="), joined.removeprefix("=")
    words = [word for word in joined.split(",") if word]

    def fits(port: Port, word: str) -> bool:
        name, _, number = word.partition(":")
        return (port.device == name if exact else port.device.startswith(name)) and number in ("", port.port)

    chosen = [port for port in ports_ if any(fits(port, word) for word in words) != excluding]
    idle = [] if excluding else [word for word in words if not any(fits(port, word) for port in ports_)]
    return chosen, idle


def listed(text: str, last: str) -> list[str] | None:
    """The lines before the last one; None if that is missing, for then the list is cut off."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[:-1] if lines and lines[-1] == last else None


def key_values(text: str, separator: str) -> dict[str, str]:
    """`HugePages_Total:  512` -> its parts."""
    pairs = (line.partition(separator) for line in text.split("\n"))
    return {key.strip(): value.strip() for key, found, value in pairs if found}


def diagnostics(text: str) -> list[tuple[str, str]] | None:
    """`dcgmi diag -j`: (test and GPU, status in lower case), DCGM 2 to 4; None if it is no such document."""
    try:
        raw = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return None
    top = [each for each in raw.values() if isinstance(each, dict)]
    categories = [each for part in top for each in _objects(part.get("test_categories"))]
    tests = [test for category in categories for test in _objects(category.get("tests"))]
    out = []
    for test in tests:
        for result in _objects(test.get("results")):
            entity = result.get("gpu_id", result.get("gpu_ids", result.get("entity_id", "")))
            out.append((f"{test.get('name')} GPU {entity}", str(result.get("status")).lower()))
    return out or None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
