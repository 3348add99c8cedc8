"""Where the gate's own programs stand: on nodes of no group, so that they take no accelerator and outlive a group's nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufabric.plan.cloud import LABEL_GROUP

MOST_ALTERNATIVES = 100  # ours: a Job that a person can still read; groups that share one label key need a single one


def outside_groups(selectors: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Affinity to nodes of no group: not(a and b) is (not a) or (not b), so the alternatives are the groups' product.

    Groups that a cloud's stack made have a label key of their own, which no other node has: one rule keeps off all of them,
    whatever their number.
    """
    made = [selector for selector in selectors if selector.keys() == {LABEL_GROUP}]
    others = [selector for selector in selectors if selector.keys() != {LABEL_GROUP}]
    no_made: list[dict[str, Any]] = [{"key": LABEL_GROUP, "operator": "DoesNotExist"}] if made else []
    terms = [
        {"matchExpressions": [*no_made, *({"key": key, "operator": "NotIn", "values": [value]} for key, value in sorted(term))]}
        for term in sorted(alternatives(others), key=sorted)
    ]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def alternatives(selectors: Sequence[Mapping[str, str]], most: int = MOST_ALTERNATIVES) -> list[frozenset[tuple[str, str]]]:
    """Sets of labels, of which a node outside all groups lacks one set whole. Stops growing once there are more than ``most``.

    A set that holds another one adds nothing: a label that all groups share keeps the list short.
    """
    found: list[frozenset[tuple[str, str]]] = [frozenset()]
    for selector in selectors:
        grown = {each | {label} for each in found for label in selector.items()}
        found = [each for each in grown if not any(other < each for other in grown)]
        if len(found) > most:
            break
    return found
