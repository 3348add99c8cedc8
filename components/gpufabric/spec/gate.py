"""The wish for one gate alone, in an organisation's own stack."""

from pydantic import Field

from gpufabric.spec.base import Namespace, Wish
from gpufabric.spec.node_group import NodeGroupSpec
from gpufabric.spec.validation import ValidationSpec


class GateSpec(Wish):
    """One node group, what to measure there, and where."""

    node_group: NodeGroupSpec
    """The group to validate."""
    validation: ValidationSpec
    """What to measure and what is enough."""
    namespace: Namespace | None = None
    """An existing namespace to run in. Default: one of the gate's own."""
    groups: list[NodeGroupSpec] = Field(default_factory=list)
    """All groups of the cluster: the coordinator keeps off their nodes. Default: ``node_group`` alone."""
