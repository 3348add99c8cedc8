"""What an account may change on nodes, as an admission policy: RBAC knows no fields, so that who may patch may uncordon."""

from collections.abc import Mapping, Sequence
from typing import Any


def node_policy(
    accounts: Sequence[str],
    *,
    condition: str,
    labels: tuple[str, str],
    annotations: tuple[str, str] | None = None,
    taint: str = "",
    who: str,
) -> dict[str, Any]:
    """The spec of a ValidatingAdmissionPolicy: everything else of a node stays as it is.

    Args:
        condition: name of the match condition.
        labels: CEL over a label's key ``k`` that is the accounts' own, and what a refusal says of it.
        annotations: the same of annotations; None where they have none.
        taint: key of the only taint that is theirs; empty where they have none.
        who: how a refusal calls them.
    """
    foreign = f".filter(t, t.key != '{taint}')" if taint else ""
    own, says = annotations or ("false", "may not change annotations of a node")
    of_taints = f"may change only the taint {taint} of a node" if taint else "may not change taints of a node"
    rules = (
        (_same_but("Labels", labels[0]), labels[1]),
        (_same_but("Annotations", own), says),
        (f"variables.newTaints{foreign} == variables.oldTaints{foreign}", of_taints),
        ("variables.newUnschedulable == variables.oldUnschedulable", "may not cordon or uncordon a node"),
        ("variables.newFinalizers == variables.oldFinalizers", "may not change finalizers of a node"),
        ("variables.newOwners == variables.oldOwners", "may not change owners of a node"),
    )
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]}]
        },
        "matchConditions": [{"name": condition, "expression": f"request.userInfo.username in {cel(accounts)}"}],
        "variables": [
            *_pair("Labels", "metadata.labels", "{}"),
            *_pair("Annotations", "metadata.annotations", "{}"),
            *_pair("Taints", "spec.taints", "[]"),
            *_pair("Unschedulable", "spec.unschedulable", "false"),
            *_pair("Finalizers", "metadata.finalizers", "[]"),
            *_pair("Owners", "metadata.ownerReferences", "[]"),
        ],
        "validations": [rule(expression, f"{who} {text}") for expression, text in rules],
    }


def rule(expression: str, message: str) -> Mapping[str, str]:
    """One validation of a policy."""
    return {"expression": expression, "message": message, "reason": "Forbidden"}


def cel(texts: Sequence[str]) -> str:
    """A CEL list of texts; names and labels hold neither quotes nor backslashes."""
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"


def _pair(name: str, field: str, absent: str) -> list[dict[str, str]]:
    """``oldX`` and ``newX``; ``absent`` where the field is not there."""
    return [
        {"name": f"{side}{name}", "expression": f"has({root}.{field}) ? {root}.{field} : {absent}"}
        for side, root in (("old", "oldObject"), ("new", "object"))
    ]


def _same_but(name: str, own: str) -> str:
    """Every key is one of theirs, or is there with the same value before and after."""
    old, new = f"variables.old{name}", f"variables.new{name}"
    return f"{new}.all(k, ({own}) || (k in {old} && {old}[k] == {new}[k])) && {old}.all(k, ({own}) || k in {new})"
