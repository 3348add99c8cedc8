"""Points in time, as text: YAML would read a bare one as a date of its own, and other languages send text."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator

from gpufabric.spec.problems import shown

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")


def instant(text: str) -> datetime:
    """``2026-12-01T11:30:00Z`` as a datetime in UTC; raises ValueError."""
    if not _INSTANT.fullmatch(text):
        raise ValueError(f"{shown(text)} is no time in UTC; write it in quotes, such as '2026-12-01T11:30:00Z'")
    try:
        return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{shown(text)} is not in any calendar; write it such as '2026-12-01T11:30:00Z'") from None


def _checked(text: str) -> str:
    instant(text)
    return text


Instant = Annotated[str, AfterValidator(_checked)]
