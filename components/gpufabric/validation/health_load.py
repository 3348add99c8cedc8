"""A GPU's PCIe link and what slows its clocks: read once while it is idle (stage 0), again and again while it works (stage 1).

An idle GPU lowers its link, and heat comes with work. So what load.sh read while the node's own ranks worked stands for what
stage 0 said of the same checks. Of a link the best sample counts: it is lowered between messages, too. Of the clocks the worst.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gpufabric.validation import health_readings
from gpufabric.validation.health_readings import Reading, Readings
from gpufabric.validation.health_report import Finding, Report
from gpufabric.validation.health_values import IDENTITY, Check, examine, per_gpu
from gpufabric.validation.health_wish import Health

_REASONS: Final = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
_PREFIXES: Final = ("clocks_event_reasons", "clocks_throttle_reasons")
_Value = tuple[str, bool | None]
"""What is said of one GPU, and whether it is good; None: not known."""


def look(folder: Path, wish: Health) -> Report:
    """What load.sh left in the folder, judged."""
    return examine(CHECKS, wish, health_readings.load(folder))


def idle_pcie(wish: Health, readings: Readings) -> Finding | None:
    """Generation and width in stage 0: less than the most proves nothing then, and is not checked."""
    return _pcie(wish, [readings["gpus"]], idle=True)


def idle_throttle(wish: Health, readings: Readings) -> Finding | None:
    """Reasons that mean a defect: heat, the power brake. A power cap under load is normal and not asked for."""
    return _throttle(wish, [readings["throttle"]], idle=True)


def _pcie_under_load(wish: Health, readings: Readings) -> Finding | None:
    return _pcie(wish, _samples(readings, "gpus"), idle=False)


def _throttle_under_load(wish: Health, readings: Readings) -> Finding | None:
    return _throttle(wish, _samples(readings, "throttle"), idle=False)


CHECKS: Final[Mapping[str, Check]] = {"pcie": _pcie_under_load, "throttle": _throttle_under_load}
"""Of load.sh's samples."""


def _samples(readings: Readings, part: str) -> list[Reading]:
    """Those that ended well, in whatever order: the last one is often cut off. If none did, one that says why."""
    found = [reading for name, reading in sorted(readings.by_name.items()) if name.startswith(f"{part}-")]
    return [each for each in found if each.code == 0] or found[:1] or [Reading()]


def _pcie(wish: Health, samples: Sequence[Reading], *, idle: bool) -> Finding | None:
    best: dict[str, list[str]] = {}
    for sample in samples:
        for gpu, (*_, gen, gen_most, width, width_most) in health_readings.columns(sample.text, IDENTITY).items():
            cells = [gen, gen_most, width, width_most]
            best[gpu] = max(best.get(gpu, cells), cells, key=_speed)
    values = {gpu: _link(cells, idle=idle) for gpu, cells in best.items()}
    return _judged(wish, "pcie", samples[-1], values, "full generation and width under load")


def _speed(cells: Sequence[str]) -> tuple[int, int]:
    """Generation first: a sample of an idle moment says nothing of the width under load."""
    return _number(cells[0]), _number(cells[2])


def _number(cell: str) -> int:
    found = health_readings.whole(cell)
    return -1 if found is None else found


def _link(cells: Sequence[str], *, idle: bool) -> _Value:
    gen, gen_most, width, width_most = cells
    numbers = [_number(cell) for cell in cells]
    if numbers[0] == numbers[1] > 0 and numbers[2] == numbers[3] > 0:
        return "full", True
    text = f"gen {gen} of {gen_most}, width {width} of {width_most}, {'not judged when idle' if idle else 'under load'}"
    return text, None if idle or min(numbers) <= 0 else False


def _throttle(wish: Health, samples: Sequence[Reading], *, idle: bool) -> Finding | None:
    active: dict[str, dict[str, int]] = {}
    odd: dict[str, str] = {}
    for sample in samples:
        for gpu, cells in _reasons(sample.text).items():
            counts = active.setdefault(gpu, {})
            for reason, cell in zip(_REASONS, cells, strict=True):
                if cell.lower() == "active":
                    counts[reason] = counts.get(reason, 0) + 1
                elif cell.lower() != "not active":
                    odd.setdefault(gpu, cell)
    values: dict[str, _Value] = {}
    for gpu, counts in active.items():
        often = "" if idle else f" in {max(counts.values(), default=0)} of {len(samples)} samples under load"
        if counts:
            values[gpu] = f"{', '.join(counts)}{often}", False
        else:
            values[gpu] = (odd[gpu], None) if gpu in odd else ("none", True)
    return _judged(wish, "throttle", samples[-1], values, "no slowdown by heat or power brake")


def _reasons(text: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for prefix in _PREFIXES:
        rows = rows or health_readings.columns(text, ("index", *(f"{prefix}.{reason}" for reason in _REASONS)))
    return rows


def _judged(wish: Health, check: str, last: Reading, values: Mapping[str, _Value], wanted: str) -> Finding | None:
    texts = {gpu: text for gpu, (text, _) in values.items()}
    good = dict(values.values()).get
    return per_gpu(wish, Readings({check: last}), check, reading=check, values=texts, good=good, wanted=wanted)
