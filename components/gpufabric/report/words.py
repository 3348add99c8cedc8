"""Numbers as people read them, each with the exact value beside it for a program that reads the page."""

from datetime import datetime

from gpufabric.report.markup import Child, Html, tag

NOTHING = "\N{EN DASH}"


def size_text(size_bytes: float) -> str:
    """16777216 as ``16 MiB``."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes:.4g} B"


def gbytes_text(value: float) -> str:
    """As in the gate's own messages: four significant digits."""
    return f"{value:.4g} GB/s"


def time_text(microseconds: float) -> str:
    """A duration in the unit that fits."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if abs(microseconds) >= factor:
            return f"{microseconds / factor:.4g} {unit}"
    return f"{microseconds:.4g} µs"


def data(value: float | None, text: str | None = None, **attributes: Child) -> Html:
    """The value for programs, the text for people; a dash where there is none."""
    if value is None:
        return tag("span", NOTHING, class_="none", aria_label="not measured")
    return tag("data", f"{value:.4g}" if text is None else text, value=repr(value), **attributes)


def size(value: float | None) -> Html:
    """A message size."""
    return data(value, None if value is None else size_text(value))


def bandwidth(value: float | None, **attributes: Child) -> Html:
    """A bandwidth with its unit."""
    return data(value, None if value is None else gbytes_text(value), **attributes)


def took(started_at: str, finished_at: str) -> str:
    """``42 s`` between two times; nothing where one of them is no time."""
    try:
        seconds = (datetime.fromisoformat(finished_at) - datetime.fromisoformat(started_at)).total_seconds()
    except (ValueError, TypeError):
        return ""
    if seconds < 0:
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
