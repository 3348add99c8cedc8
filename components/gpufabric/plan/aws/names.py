"""Names that AWS bounds: a stack's own is part of them, and AWS would say so when half of the stack is made."""

import re

from gpufabric.spec import Problem

_CLUSTER = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]*")
_SUFFIX = len("-0123456")  # what Pulumi adds to a name, so that a successor can be made before its predecessor goes
_MOST = 63 - _SUFFIX  # of a managed node group (EKS user guide, Create a managed node group); roles take one letter more
_GROUP_RULE = "EKS user guide, names of node groups: 63 characters, 8 of them Pulumi's"


def cluster_name_problems(name: str) -> list[Problem]:
    """What is wrong with the name of a cluster that is made, and of its system nodes, which are called after it."""
    most = _MOST - len("-system")
    if not _CLUSTER.fullmatch(name):
        fix = "name stack and component with letters, digits, - and _, beginning with a letter or digit"
        return [Problem("", f"{name!r} cannot be the name of an EKS cluster", fix, "EKS API model, ClusterName, 2026-11")]
    if len(name) > most:
        reason = f"{name!r} has {len(name)} characters: too many for the name of its system nodes"
        return [Problem("", reason, f"name stack and component with at most {most}", _GROUP_RULE)]
    return []


def group_name_problems(name: str, path: str) -> list[Problem]:
    """What is wrong with the name of a node group's component, which the node group is called after."""
    most = _MOST - len("-nodes")
    if len(name) <= most:
        return []
    reason = f"the component is called {name}: {len(name)} characters are too many for the name of its node group"
    return [Problem(path, reason, f"shorten it to {most}: the stack's name, or the group's", _GROUP_RULE)]
