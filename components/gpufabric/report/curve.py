"""Bus bandwidth by message size as an SVG: what was measured, the floor, and what healthy clusters of this kind give."""

import math
from dataclasses import dataclass

from gpufabric.report.markup import Html, join, tag
from gpufabric.report.verdict import Size, Verdict
from gpufabric.report.words import gbytes_text, size_text

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 22, 52
_TICKS_X, _TICKS_Y = 8, 5
_LEAST, _MOST = 1e-9, 1e300  # GB/s: below, no readable numbers; above, no room for a margin


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sizes by their logarithm to x, bandwidths from 0 to ``top`` to y."""

    low: float
    high: float
    top: float

    def x(self, size_bytes: float) -> float:
        inside = (math.log2(size_bytes) - self.low) / (self.high - self.low)
        return round(_LEFT + inside * (_WIDTH - _LEFT - _RIGHT), 2)

    def y(self, busbw: float) -> float:
        return round(_HEIGHT - _BOTTOM - busbw / self.top * (_HEIGHT - _TOP - _BOTTOM), 2)


def curve(verdict: Verdict, name: str) -> Html | None:
    """The graphic, or None where fewer than two sizes were measured. ``name`` makes its ids unique on the page."""
    rows = [
        row for row in verdict.table if row.size_bytes and row.size_bytes > 0 and _shown(row.out_of_place.busbw_gbytes_per_s)
    ]
    if len(rows) < 2:
        return None
    scale = _scale(verdict, rows)
    judged = next((row for row in reversed(rows) if row.size_bytes == verdict.size_bytes), None)
    return tag(
        "svg",
        tag("title", f"Bus bandwidth by message size of {verdict.group}", id=f"{name}-title"),
        tag("desc", "The numbers stand in the table beside it.", id=f"{name}-desc"),
        _band(verdict, scale),
        _grid(scale, rows),
        _floor(verdict, rows, scale),
        _line([(r.size_bytes, r.in_place.busbw_gbytes_per_s) for r in rows], scale, "in-place"),
        _line([(r.size_bytes, r.out_of_place.busbw_gbytes_per_s) for r in rows], scale, "out-of-place"),
        *(_point(row, row is judged, scale) for row in rows),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="curve",
    )


def _shown(value: float | None) -> bool:
    return value is not None and value >= 0


def _scale(verdict: Verdict, rows: list[Size]) -> _Scale:
    sizes = [math.log2(row.size_bytes) for row in rows if row.size_bytes]
    values = [verdict.floor_busbw_gbytes_per_s or 0.0, *(verdict.healthy_busbw_gbytes_per_s or ())]
    for row in rows:
        values += [side.busbw_gbytes_per_s or 0.0 for side in (row.out_of_place, row.in_place)]
    low, high = min(sizes), max(sizes)
    margin = (high - low) * 0.03 or 0.5
    return _Scale(low - margin, high + margin, min(max(*values, _LEAST), _MOST) * 1.1)


def ticks(top: float, wanted: int = _TICKS_Y) -> list[float]:
    """Round numbers from 0 up to ``top``: steps of 1, 2 or 5 times a power of ten."""
    raw = top / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((factor * power for factor in (1, 2, 5) if factor * power >= raw), 10 * power)
    return [step * count for count in range(int(top / step) + 1)]


def _grid(scale: _Scale, rows: list[Size]) -> Html:
    bottom = _HEIGHT - _BOTTOM
    parts: list[Html] = []
    for value in ticks(scale.top):
        y = scale.y(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="axis" if value == 0 else "grid"))
        parts.append(tag("text", f"{value:.4g}", x=_LEFT - 8, y=y + 4, text_anchor="end"))
    sizes = list(dict.fromkeys(row.size_bytes for row in rows if row.size_bytes))
    step = math.ceil(len(sizes) / _TICKS_X)
    for size_bytes in sizes[::-1][::step]:  # from the largest on: the judged one has its label
        x = scale.x(size_bytes)
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, class_="axis"))
        parts.append(tag("text", size_text(size_bytes), x=x, y=bottom + 20, text_anchor="middle"))
    parts.append(tag("text", "message size", x=_WIDTH - _RIGHT, y=_HEIGHT - 8, text_anchor="end", class_="unit"))
    parts.append(tag("text", "bus bandwidth, GB/s", x=_LEFT - 50, y=12, class_="unit"))
    return tag("g", *parts)


def _band(verdict: Verdict, scale: _Scale) -> Html | None:
    if verdict.healthy_busbw_gbytes_per_s is None:
        return None
    low, high = verdict.healthy_busbw_gbytes_per_s
    top, bottom = scale.y(high), scale.y(low)
    height = max(bottom - top, 2)
    label = f"healthy: {low:.4g} to {gbytes_text(high)}" if high > low else f"healthy: {gbytes_text(low)}"
    return join(
        tag("rect", x=_LEFT, y=top, width=_WIDTH - _LEFT - _RIGHT, height=round(height, 2), class_="healthy"),
        tag("text", label, x=_LEFT + 8, y=max(top - 6, 20), class_="of-healthy"),
    )


def _floor(verdict: Verdict, rows: list[Size], scale: _Scale) -> Html | None:
    floor = verdict.floor_busbw_gbytes_per_s
    if floor is None or floor < 0:
        return None
    y = scale.y(floor)
    third = max(len(rows) // 3, 1)
    left, right = (
        min(abs(scale.y(row.out_of_place.busbw_gbytes_per_s or 0) - y) for row in part)
        for part in (rows[:third], rows[-third:])
    )
    x, anchor = (_LEFT + 8, "start") if left >= right else (_WIDTH - _RIGHT - 8, "end")  # where the curve keeps away
    above = y - 6 if y > _TOP + 20 else y + 15
    return join(
        tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="floor"),
        tag("text", f"floor {gbytes_text(floor)}", x=x, y=above, text_anchor=anchor, class_="of-floor"),
    )


def _line(points: list[tuple[float | None, float | None]], scale: _Scale, class_: str) -> Html | None:
    """A path that breaks where nothing was measured."""
    steps: list[str] = []
    drawing = False
    for size_bytes, value in points:
        if size_bytes is None or value is None or value < 0:
            drawing = False
            continue
        steps.append(f"{'L' if drawing else 'M'}{scale.x(size_bytes)} {scale.y(value)}")
        drawing = True
    return tag("path", d=" ".join(steps), class_=f"line {class_}") if len(steps) > 1 else None


def _point(row: Size, judged: bool, scale: _Scale) -> Html | None:
    size_bytes, value = row.size_bytes, row.out_of_place.busbw_gbytes_per_s
    if size_bytes is None or value is None:
        return None
    x, y = scale.x(size_bytes), scale.y(value)
    wrong = f", {row.out_of_place.wrong:.4g} wrong sums" if row.out_of_place.wrong else ""
    said = f"{size_text(size_bytes)}: {gbytes_text(value)}{wrong}{' (judged)' if judged else ''}"
    class_ = " ".join(["point", *(["judged"] if judged else []), *(["wrong"] if wrong else [])])
    point = tag(
        "circle",
        tag("title", said),
        cx=x,
        cy=y,
        r=6 if judged else 3.5,
        class_=class_,
        data_size=repr(size_bytes),
        data_busbw=repr(value),
    )
    if not judged:
        return point
    anchor, at = ("end", x - 11) if x > _WIDTH / 2 else ("start", x + 11)
    below = y < _TOP + 24
    return join(
        point, tag("text", gbytes_text(value), x=at, y=y + 18 if below else y - 10, text_anchor=anchor, class_="of-judged")
    )
