"""Device plugins and installers of the fabric: without them no pod can ask for a device, and NCCL finds no plugin."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_kubernetes.apps.v1 import DaemonSet

from gpufabric.plan.daemons import plan_daemons
from gpufabric.spec import SpecError
from gpufabric.spec.daemons import FabricDaemonsSpec


class FabricDaemonsArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.FabricDaemons`."""

    daemons: list[str]
    """Names of the table, at least one: device plugins such as ``nvidia-device-plugin``, installers such as
    ``nccl-rdma-installer``."""
    images: NotRequired[dict[str, str]]
    """Another image by name, of an installer for what it installs: a mirror of the table's. Default: the table's images."""
    namespace: NotRequired[str]
    """Namespace that exists. Default: ``kube-system``, where pods may call themselves critical for their node."""


class FabricDaemons(ComponentResource):
    """Device plugins and installers as DaemonSets of our own: pinned, on the nodes that have the hardware, held ones too.

    Not beside a GPU operator or another installation of the same plugins: two of them fight for one socket.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    names: Output[Sequence[str]]
    """``namespace/name`` of the DaemonSets."""

    def __init__(self, name: str, args: FabricDaemonsArgs, opts: ResourceOptions | None = None) -> None:
        wish = FabricDaemonsSpec.parse(args, name)
        try:
            plans = plan_daemons(wish)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:FabricDaemons", name, {}, opts)
        labels = {"app.kubernetes.io/managed-by": "pulumi"}
        made = [
            DaemonSet(
                f"{name}-{plan.name}",
                # No waiting: where a group has no nodes yet, before its capacity's window, none ever becomes ready.
                metadata={
                    "name": plan.name,
                    "namespace": plan.namespace,
                    "labels": {"app.kubernetes.io/name": plan.name, **labels},
                    "annotations": {"pulumi.com/skipAwait": "true"},
                },
                spec=plan.spec,
                opts=ResourceOptions(parent=self),
            )
            for plan in plans
        ]
        self.names = Output.all(*[each.id for each in made])
        self.register_outputs({"names": self.names})
