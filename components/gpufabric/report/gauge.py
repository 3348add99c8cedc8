"""Measured against wanted as one bar: the bandwidth, the floor, and what healthy clusters of this kind give."""

from gpufabric.report.markup import Html, tag
from gpufabric.report.verdict import Verdict
from gpufabric.report.words import gbytes_text

_WIDTH, _HEIGHT = 1070, 60
_TOP, _BAR = 20, 16


def gauge(verdict: Verdict, name: str) -> Html | None:
    """The bar, or None where nothing was measured or nothing was wanted. Its numbers stand in the table beside it."""
    measured, floor, healthy = verdict.busbw_gbytes_per_s, verdict.floor_busbw_gbytes_per_s, verdict.healthy_busbw_gbytes_per_s
    if measured is None or measured < 0 or floor is None or floor <= 0:
        return None
    top = min(max(measured, floor, healthy[1] if healthy else 0), 1e300) * 1.06

    def x(value: float) -> float:
        return round(min(value / top, 1) * _WIDTH, 2)

    parts = [tag("rect", x=0, y=_TOP, width=_WIDTH, height=_BAR, rx=4, class_="track")]
    if healthy:
        low, high = x(healthy[0]), x(healthy[1])
        parts.append(tag("rect", x=low, y=_TOP - 3, width=max(round(high - low, 2), 3), height=_BAR + 6, class_="healthy"))
        said = f"healthy {healthy[0]:.4g} to {gbytes_text(healthy[1])}"
        parts.append(tag("text", said, x=high, y=_HEIGHT - 4, text_anchor="end" if high > _WIDTH / 3 else "start"))
    enough = "enough" if measured >= floor else "short"
    parts.append(tag("rect", x=0, y=_TOP, width=max(x(measured), 3), height=_BAR, rx=4, class_=f"measured {enough}"))
    at = x(floor)
    parts.append(tag("line", x1=at, x2=at, y1=_TOP - 6, y2=_TOP + _BAR + 6, class_="floor"))
    side = "end" if at > _WIDTH / 2 else "start"
    parts.append(tag("text", f"floor {gbytes_text(floor)}", x=at + (-6 if side == "end" else 6), y=12, text_anchor=side))
    said = f"{gbytes_text(measured)} measured, at least {gbytes_text(floor)} wanted"
    return tag(
        "svg",
        tag("title", said, id=f"{name}-title"),
        *parts,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby=f"{name}-title",
        class_="gauge",
    )
