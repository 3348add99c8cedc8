"""Where closed nodes are tainted: DaemonSets of the cluster that such a node needs, and that would stay off it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufabric.hardware import find_daemonset
from gpufabric.spec import Problem
from gpufabric.validation.contract import HOLD_TAINT, HOLD_TOLERATION

Json = Mapping[str, Any]

_WANTED = "{" + ", ".join(f"{key}: {value}" for key, value in HOLD_TOLERATION.items()) + "}"


def daemonset_problems(daemonsets: Sequence[Json], members: Sequence[Json]) -> Iterator[Problem]:
    """One problem for each DaemonSet that is known to be needed, or lies in kube-system, and does not tolerate the hold.

    Its pods that run would go on, but a node that joins or reboots would wait for it for ever.
    """
    for each in daemonsets:
        meta, pod = each["metadata"], each["spec"]["template"]["spec"]
        row = next(filter(None, map(find_daemonset, _images(pod))), None)
        if row is None and meta.get("namespace") != "kube-system":
            continue
        if _tolerates(pod.get("tolerations") or []) or not any(_selects(pod, node) for node in members):
            continue
        lacks = f": it would lack {row.does}" if row else ""
        where = f" ({row.toleration_at})" if row else ""
        yield Problem(
            "validation.hold",
            f"the DaemonSet {meta.get('namespace')}/{meta['name']} does not tolerate the hold, and closed nodes need it{lacks}",
            f"add the toleration {_WANTED} to it{where}, or write hold: label",
            str(row.provenance) if row else "",
        )


def _images(pod: Json) -> list[str]:
    return [str(each.get("image", "")) for kind in ("containers", "initContainers") for each in pod.get(kind) or []]


def _tolerates(tolerations: Sequence[Json]) -> bool:
    """As the scheduler decides it: an empty key with Exists is every taint, an empty effect every effect."""
    return any(
        each.get("key") in (None, "", HOLD_TAINT["key"])
        and (each.get("operator") == "Exists" or (each.get("key") and not each.get("value")))
        and each.get("effect") in (None, "", HOLD_TAINT["effect"])
        for each in tolerations
    )


def _selects(pod: Json, node: Json) -> bool:
    """Whether a pod of it belongs on the node. What cannot be decided here counts as yes: the problem has a way out."""
    labels = node["metadata"].get("labels") or {}
    if not (pod.get("nodeSelector") or {}).items() <= labels.items():
        return False
    affinity = ((pod.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = (affinity or {}).get("nodeSelectorTerms") or []
    return not terms or any(all(_matches(rule, labels) for rule in term.get("matchExpressions") or []) for term in terms)


def _matches(rule: Json, labels: Json) -> bool:
    key, values = str(rule.get("key")), rule.get("values") or []
    match rule.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return True
