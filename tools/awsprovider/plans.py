"""What a sample takes for granted."""

import re
from typing import Any

_ID = re.compile(r"[a-z]{1,12}-(?:[0-9a-f]{17}|[0-9a-f]{8})")
# Keys of a stack's config below which names of existing things stand.
_EXISTING = ("existing", "placement_group")


def declared(config: Any) -> set[str]:
    """What a stack's config names as existing before it: ids anywhere, and names below certain keys."""
    return set(_texts(config, everything=False))


def _texts(value: Any, *, everything: bool) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in _texts(each, everything=everything or key in _EXISTING)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each, everything=everything)]
    if isinstance(value, str) and (everything or _ID.fullmatch(value)):
        return [value]
    return []
