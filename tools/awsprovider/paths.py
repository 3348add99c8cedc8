"""Property paths (``accessConfigs[0].authenticationMode``) under both names."""

import re

from tools.awsprovider.fields import Pairs

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]|\[\"([^\"]*)\"\]")


def path_from_bridge(path: str, known: Pairs) -> str:
    """A path of the bridge as pulumi-aws would write it."""
    result, names, skip = "", {pair.theirs: pair for pair in known}, False
    for step in _STEP.finditer(path):
        pair = names.get(step[1] or "")
        if step[2] is not None:
            result += "" if skip else f"[{step[2]}]"
            skip = False
            continue
        result = _joined(result, pair.ours if pair else step[1] or step[3])
        skip = bool(pair and pair.listed)
        names = {each.theirs: each for each in pair.inner()} if pair and pair.inner else {}
    return result


def path_to_bridge(path: str, known: Pairs) -> str:
    """The inverse."""
    result, names = "", {pair.ours: pair for pair in known}
    for step in _STEP.finditer(path):
        if step[2] is not None:
            result += f"[{step[2]}]"
            continue
        pair = names.get(step[1] or "")
        result = _joined(result, pair.theirs if pair else step[1] or step[3]) + (
            "[0]" if pair and pair.listed and step.end() < len(path) else ""
        )
        names = {each.ours: each for each in pair.inner()} if pair and pair.inner else {}
    return result


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
