"""Names that Google bounds: a stack's own is part of them, and Google would say so when half of the stack is made."""

import re

from gpufabric.spec import Problem

SUFFIX = len("-0123456")
"""What Pulumi adds to a name, so that a successor can be made before its predecessor goes."""
POOL_MOST = 40 - SUFFIX
"""GKE takes 40 characters for the name of a node pool, which is the component's own."""
_GRAMMAR = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_COMPUTE_MOST = 63


def name_problems(name: str, what: str, most: int, path: str = "") -> list[Problem]:
    """What is wrong with a component's name, after which ``what`` is called: its grammar, or more letters than ``most``."""
    if not _GRAMMAR.fullmatch(name):
        fix = "name stack and component with a-z, 0-9 and -, beginning with a letter, not ending in -"
        return [Problem(path, f"{name!r} cannot be the name of {what}", fix, "RFC 1035, as Google Cloud has it")]
    if len(name) > most:
        reason = f"{name!r} has {len(name)} characters: too many for the name of {what}"
        return [Problem(path, reason, f"name stack and component with at most {most}", "Google Cloud, names of resources")]
    return []


def most_letters(longest_part: str) -> int:
    """How long a component's name may be, with the longest name of its parts in Compute Engine."""
    return _COMPUTE_MOST - SUFFIX - len(longest_part)
