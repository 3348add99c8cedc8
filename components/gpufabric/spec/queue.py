"""The wish for one queue alone, in an organisation's own stack."""

from gpufabric.spec.base import Wish
from gpufabric.spec.node_group import NodeGroupSpec


class QueueSpec(Wish):
    """One node group; its ``scheduler`` says which queue stands in front of it."""

    node_group: NodeGroupSpec
    """The group whose validated nodes the queue gives out; here its ``scheduler`` is required."""
