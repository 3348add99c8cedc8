"""Times as the gate writes, reads and tells them."""

import datetime
from typing import Any, Final

_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def now() -> str:
    """RFC 3339, UTC, whole seconds."""
    return datetime.datetime.now(datetime.UTC).strftime(_FORMAT)


def seconds(text: Any) -> float:
    """What `now` wrote as seconds since 1970; 0 for anything else."""
    try:
        return datetime.datetime.strptime(str(text), _FORMAT).replace(tzinfo=datetime.UTC).timestamp()
    except ValueError:
        return 0.0


def span(duration_s: float) -> str:
    """`40 s`, `12 min`, `3 h`, `5 days`: as exact as a person needs it."""
    for most, unit, size in ((120, "s", 1), (120 * 60, "min", 60), (48 * 3600, "h", 3600)):
        if duration_s < most:
            return f"{max(duration_s, 0) / size:.0f} {unit}"
    return f"{duration_s / 86400:.0f} days"
