"""What checks have in common: each ends as passed or as a finding, and one value of every GPU is judged in one way."""

from collections.abc import Callable, Mapping
from typing import Final

from gpufabric.validation.health_readings import Readings
from gpufabric.validation.health_report import Finding, Report
from gpufabric.validation.health_wish import NOT_CHECKED, Health

IDENTITY: Final = (
    *("index", "uuid", "name", "persistence_mode", "pcie.link.gen.current", "pcie.link.gen.max"),
    *("pcie.link.width.current", "pcie.link.width.max"),
)
"""The columns of nvidia-smi's answer to gpu_identity (gpus.sh)."""


Check = Callable[[Health, Readings], Finding | None]


def examine(checks: Mapping[str, Check], wish: Health, readings: Readings) -> Report:
    """Hold a node's readings against the wish. Never raises, whatever the texts."""
    passed, findings = [], []
    for name, check in checks.items():
        try:
            found = check(wish, readings)
        except Exception as error:  # noqa: BLE001  # a mistake here must neither pass a node nor end the gate
            found = Finding(name, NOT_CHECKED, f"mistake in gpufabric, please report it: {error!r}", "")
        if found is None:
            passed.append(name)
        else:
            findings.append(found)
    return Report(tuple(passed), tuple(findings))


def per_gpu(
    wish: Health,
    readings: Readings,
    check: str,
    *,
    reading: str,
    values: Mapping[str, str],
    good: Callable[[str], bool | None],
    wanted: str,
    lower: bool = False,
) -> Finding | None:
    """Every GPU's value: one bad is bad, one that is missing or cannot be read keeps the rest from passing."""
    judged = {gpu: good(text.lower() if lower else text) for gpu, text in values.items()}
    bad = [gpu for gpu, result in judged.items() if result is False]
    if bad:
        return Finding(check, wish.rule(check).severity, grouped({gpu: values[gpu] for gpu in bad}), wanted)
    unread = {gpu: values[gpu] for gpu, result in judged.items() if result is None}
    if unread:
        return Finding(check, NOT_CHECKED, grouped(unread), wanted)
    if len(values) < wish.gpus or readings[reading].code != 0:
        why = f"{len(values)} of {wish.gpus} GPUs read" if 0 < len(values) < wish.gpus else readings[reading].unread
        return Finding(check, NOT_CHECKED, why, wanted)
    return None


def grouped(values: Mapping[str, str]) -> str:
    """`GPU 0, 1: [N/A]; GPU 3: 2`."""
    by_text: dict[str, list[str]] = {}
    for gpu, text in values.items():
        by_text.setdefault(text, []).append(gpu)
    return "; ".join(f"GPU {', '.join(gpus)}: {text or 'no value'}" for text, gpus in by_text.items())
