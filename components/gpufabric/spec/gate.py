"""The wish for one gate alone, in an organisation's own stack."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.node_group import NodeGroupSpec
from gpufabric.spec.problems import shown
from gpufabric.spec.validation import ValidationSpec

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # a DNS label of RFC 1123


def _namespace(value: str) -> str:
    if not _NAMESPACE.fullmatch(value):
        raise ValueError(f"{shown(value)} cannot be a namespace; write the name that kubectl get namespaces shows")
    return value


class GateSpec(Wish):
    """One node group, what to measure there, and where."""

    node_group: NodeGroupSpec
    """The group to validate."""
    validation: ValidationSpec
    """What to measure and what is enough."""
    namespace: Annotated[str, AfterValidator(_namespace)] | None = None
    """An existing namespace to run in. Default: one of the gate's own."""
    groups: list[NodeGroupSpec] = Field(default_factory=list)
    """All groups of the cluster: the coordinator keeps off their nodes. Default: ``node_group`` alone."""
