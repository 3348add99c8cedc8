"""The networks of GPUs as objects of a GKE cluster: pods ask for them by name, one for each rail."""

from collections.abc import Sequence
from typing import TypedDict

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource

from gpufabric.kubernetes.args import NodeNetworkArgs
from gpufabric.plan.fabric_networks import plan_networks
from gpufabric.spec import SpecError
from gpufabric.spec.networks import FabricNetworksSpec

_GROUP = "networking.gke.io"
_KIND = "GKENetworkParamSet"


class FabricNetworksArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.FabricNetworks`."""

    machine_type: str
    """The GPU machine of the node pools, such as ``a3-ultragpu-8g``: its fabric says how many networks there are."""
    networks: list[NodeNetworkArgs]
    """The additional networks of the node pool, in its order: that of the host first, where there is one, then the rails."""


class FabricNetworks(ComponentResource):
    """Networks of a fabric in a GKE cluster: once, whatever the number of node pools that share them.

    The cluster needs multi-networking, which brings the kinds of objects. Not with ``fabric_attachment: dranet``.

    Raises:
        SpecError: the number of networks is not the machine's, before anything is registered.
    """

    names: Output[Sequence[str]]
    """Names of the networks in the cluster, as pods' annotations have them, in the node pool's order."""

    def __init__(self, name: str, args: FabricNetworksArgs, opts: ResourceOptions | None = None) -> None:
        wish = FabricNetworksSpec.parse({key: value for key, value in args.items() if key != "networks"}, name)
        networks = args.get("networks", [])
        try:
            plans = plan_networks(wish.machine_type, len(networks))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:FabricNetworks", name, {}, opts)
        for plan, of_pool in zip(plans, networks, strict=False):  # more may be there, which pods do not use
            metadata = {"name": plan.name, "labels": {"app.kubernetes.io/managed-by": "pulumi"}}
            params = CustomResource(
                f"{name}-{plan.name}-params",
                api_version=f"{_GROUP}/v1",
                kind=_KIND,
                metadata=metadata,
                spec={"vpc": of_pool["network"], "vpcSubnet": of_pool["subnetwork"], "deviceMode": plan.mode},
                opts=ResourceOptions(parent=self),
            )
            CustomResource(
                f"{name}-{plan.name}",
                api_version=f"{_GROUP}/v1",
                kind="Network",
                metadata=metadata,
                spec={"type": "Device", "parametersRef": {"group": _GROUP, "kind": _KIND, "name": plan.name}},
                opts=ResourceOptions(parent=self, depends_on=[params]),
            )
        self.names = Output.from_input([plan.name for plan in plans])
        self.register_outputs({"names": self.names})
