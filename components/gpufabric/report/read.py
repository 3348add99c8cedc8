"""From JSON to verdicts. Lenient: another program wrote it, perhaps a later one; what is odd is left out."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from gpufabric.report.verdict import Also, Finding, Health, Inside, InsideNode, Pair, Side, Size, Verdict
from gpufabric.validation.contract import VERDICT_KEY

_MOST_DEPTH = 6
_ALSO = frozenset({"reason", "table", "busbw_gbytes_per_s", "floor_busbw_gbytes_per_s"})


class NoVerdictError(ValueError):
    """There is no verdict in what was given; the message says what was looked for."""


def read_verdicts(text: str) -> list[Verdict]:
    """Every verdict in a JSON text, in its order; raises :class:`NoVerdictError` if there is none.

    Forms: a verdict (``verdict.json``, ``gpufabric nccl parse --json``), a stack's outputs, a mapping of groups to verdicts,
    the verdict ConfigMap or a List of them as ``kubectl get -o json`` prints it.
    """
    try:
        found = list(_verdicts(json.loads(text), "", _MOST_DEPTH))
    except (ValueError, RecursionError):
        raise NoVerdictError("not JSON") from None
    if not found:
        raise NoVerdictError(
            "no verdict in it; expected verdict.json, or the outputs of a stack, whose output `validation` has one per group"
        )
    return found


def _verdicts(raw: object, name: str, depth: int) -> Iterator[Verdict]:
    if depth == 0:
        return
    if isinstance(raw, list):
        for each in raw:
            yield from _verdicts(each, name, depth - 1)
    if not isinstance(raw, Mapping):
        return
    if isinstance(raw.get("outcome"), str) and _ALSO & raw.keys():
        yield _verdict(raw, name)
        return
    data = raw.get("data")
    if isinstance(data, Mapping) and isinstance(data.get(VERDICT_KEY), str):
        try:
            yield from _verdicts(json.loads(data[VERDICT_KEY]), name, depth - 1)
        except (ValueError, RecursionError):
            return
        return
    for key, value in raw.items():
        yield from _verdicts(value, str(key), depth - 1)


def _verdict(raw: Mapping[str, Any], name: str) -> Verdict:
    def text(key: str) -> str:
        return _text(raw.get(key))

    def number(key: str) -> float | None:
        return _number(raw.get(key))

    table = [_size(row) for row in _rows(raw, "table", list) if row]
    return Verdict(
        group=text("group") or name or "group",
        outcome=text("outcome"),
        reason=text("reason"),
        fix=text("fix"),
        stack=text("stack"),
        nodes=_texts(raw.get("nodes")),
        backend=text("backend"),
        collective=text("collective"),
        ranks=number("ranks"),
        size_bytes=number("size_bytes"),
        busbw_gbytes_per_s=number("busbw_gbytes_per_s"),
        algbw_gbytes_per_s=number("algbw_gbytes_per_s"),
        latency_us=number("latency_us"),
        floor_busbw_gbytes_per_s=number("floor_busbw_gbytes_per_s"),
        floor_source=text("floor_source"),
        healthy_busbw_gbytes_per_s=_range(raw.get("healthy_busbw_gbytes_per_s")),
        also=tuple(_also(each) for each in _rows(raw, "also", Mapping)),
        table=tuple(sorted(table, key=lambda row: -1 if row.size_bytes is None else row.size_bytes)),
        pairs=tuple(pair for each in _rows(raw, "pairs", Mapping) if (pair := _pair(each))),
        findings=tuple(_finding(each) for each in _rows(raw, "findings", Mapping)),
        health=tuple(_health(raw.get("health"))),
        inside=_inside(raw.get("inside")),
        image=text("image"),
        run=number("run"),
        fingerprint=text("fingerprint"),
        stand_ins=_texts(raw.get("stand_ins")),
        started_at=text("started_at"),
        finished_at=text("finished_at"),
    )


def _size(row: list[Any]) -> Size:
    cells = [_number(cell) for cell in row[:9]] + [None] * 9
    return Size(cells[0], Side(*cells[1:5]), Side(*cells[5:9]))


def _also(raw: Mapping[str, Any]) -> Also:
    return Also(
        _text(raw.get("collective")),
        _text(raw.get("outcome")),
        _number(raw.get("busbw_gbytes_per_s")),
        _number(raw.get("floor_busbw_gbytes_per_s")),
        _text(raw.get("floor_source")),
    )


def _pair(raw: Mapping[str, Any]) -> Pair | None:
    nodes = _texts(raw.get("nodes"))
    if len(nodes) != 2:
        return None
    found = _number(raw.get("round"))
    return Pair(
        None if found is None else int(found),
        (nodes[0], nodes[1]),
        _text(raw.get("outcome")),
        _number(raw.get("busbw_gbytes_per_s")),
    )


def _finding(raw: Mapping[str, Any]) -> Finding:
    return Finding(
        _text(raw.get("kind")), _texts(raw.get("nodes")), _number(raw.get("busbw_gbytes_per_s")), _text(raw.get("text"))
    )


def _health(raw: object) -> Iterator[Health]:
    """Per node what passed and what was found, as the gate writes it; or a list in which each finding names its node."""
    if isinstance(raw, list):
        yield from (_checked(_text(each.get("node")), each) for each in raw if isinstance(each, Mapping))
    if not isinstance(raw, Mapping):
        return
    for node, report in raw.items():
        if not isinstance(report, Mapping):
            continue
        yield from (_checked(str(node), each) for each in _rows(report, "findings", Mapping))
        if dropped := _number(report.get("dropped")):
            yield Health(str(node), "", f"{dropped:.4g} more findings had no room", "", "not shown", "")
        if passed := _texts(report.get("passed")):
            yield Health(str(node), ", ".join(passed), "as wanted", "", "passed", "")


def _checked(node: str, raw: Mapping[str, Any]) -> Health:
    what = _text(raw.get("what")) or _text(raw.get("check"))
    measured, wanted, severity, fix = (_text(raw.get(key)) for key in ("measured", "wanted", "severity", "fix"))
    return Health(node, what, measured, wanted, severity, fix)


def _inside(raw: object) -> Inside | None:
    """None where stage 1 did not run, or no node of it was measured."""
    nodes = raw.get("nodes") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(nodes, Mapping):
        return None
    measured = tuple(
        InsideNode(str(node), _text(each.get("outcome")), _number(each.get("busbw_gbytes_per_s")), _text(each.get("reason")))
        for node, each in nodes.items()
        if isinstance(each, Mapping)
    )
    if not measured:
        return None
    size_bytes, floor = (_number(raw.get(key)) for key in ("size_bytes", "floor_busbw_gbytes_per_s"))
    return Inside(_text(raw.get("what")), size_bytes, floor, _text(raw.get("floor_source")), measured)


def _rows(raw: Mapping[str, Any], key: str, kind: type[Any]) -> list[Any]:
    value = raw.get(key)
    return [each for each in value if isinstance(each, kind)] if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(each) for each in value) if isinstance(value, list) else ()


def _text(value: object) -> str:
    """Text as it is; a number, a truth value or anything nested as JSON writes it."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _number(value: object) -> float | None:
    """A finite number or None; a whole one as an int, since Pulumi hands every number on as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        real = float(value)
    except OverflowError:
        return None
    if not math.isfinite(real):
        return None
    return int(real) if real.is_integer() and abs(real) < 1e15 else real


def _range(value: object) -> tuple[float, float] | None:
    numbers = [_number(each) for each in value] if isinstance(value, list) else []
    if len(numbers) != 2 or numbers[0] is None or numbers[1] is None or not 0 < numbers[0] <= numbers[1]:
        return None
    return numbers[0], numbers[1]
