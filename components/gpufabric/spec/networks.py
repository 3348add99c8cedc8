"""Wishes about the networks of GPUs as a cluster's objects."""

from gpufabric.spec.base import Wish


class FabricNetworksSpec(Wish):
    """Networks that a GKE cluster gives to pods, one for each card of its GPU nodes. The networks themselves are handles."""

    machine_type: str
    """The GPU machine of the node pools, such as ``a3-ultragpu-8g``: its fabric says how many networks there are."""
