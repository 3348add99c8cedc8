"""A Managed Lustre file system for a training cluster, and a claim that pods mount."""

from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, CustomTimeouts, Input, Output, ResourceOptions
from pulumi_gcp import lustre

from gpufabric.kubernetes.handles import given, wishes
from gpufabric.kubernetes.volumes import shared_volume
from gpufabric.plan.gcp.filesystem import LUSTRE_DRIVER, LUSTRE_NAME, ManagedLustrePlan, plan_lustre
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.storage import ManagedLustreWish

_HANDLES = frozenset({"network"})
_POOL = "default-pool/default-container"  # part of the driver's name of every instance
_HOURS = "3h"  # an instance takes longer than the provider's own twenty minutes


class ManagedLustreArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.ManagedLustre`."""

    project: str
    """Project of the file system."""
    zone: str
    """Zone of the GPU nodes, where the file system stands too."""
    network: NotRequired[Input[str]]
    """Path of the VPC, peered with Google's services (``network_id`` of GcpNetwork). Required, unless the system exists."""
    size_gib: NotRequired[int]
    """Capacity, 1 to 100,000,000 GiB on Google's grid (an error offers the nearest two). Required, unless one exists."""
    throughput_mbytes_per_s_per_tib: NotRequired[int]
    """Throughput per TiB, 1 to 1,000 MB/s: 125, 250, 500 or 1,000. It cannot be changed later. Default: 250."""
    existing: NotRequired[str]
    """Name of an instance in the zone that the nodes can reach, instead of the keys above. Default: one is made."""
    claim: NotRequired[str]
    """Name of the PersistentVolumeClaim that pods mount. Default: ``shared``."""
    namespace: NotRequired[str]
    """Namespace of the claim; it exists. Default: ``default``."""
    protect: NotRequired[bool]
    """Refuse to delete the file system. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is made, at most 54. Default: none."""


class ManagedLustre(ComponentResource):
    """A file system of Google Cloud Managed Lustre as a claim in the cluster.

    Needs a Kubernetes provider of the cluster (``providers``), which runs the driver (``csi_drivers`` of GkeCluster). Nothing
    is mounted anywhere: pods name the claim.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    instance_id: Output[str]
    """Path of the instance."""
    claim: Output[str]
    """``namespace/name`` of the claim."""

    def __init__(self, name: str, args: ManagedLustreArgs, opts: ResourceOptions | None = None) -> None:
        wish = ManagedLustreWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_lustre(name, wish, handles=given(args, _HANDLES))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:ManagedLustre", name, {}, opts)
        child = ResourceOptions(parent=self)
        found = lustre.Instance.get(f"{name}-lustre", plan.path, opts=child) if plan.existing else None
        instance = found or self._made(name, plan, args)
        self.instance_id = instance.id
        # tcp:10.2.0.3@tcp:/lustre, of which the driver wants the address
        address = instance.mount_point.apply(lambda point: point.partition("@")[0])
        self.claim = shared_volume(
            name,
            claim=plan.claim,
            namespace=plan.namespace,
            size_gib=instance.capacity_gib.apply(int),
            source={
                "csi": {
                    "driver": LUSTRE_DRIVER,
                    "volume_handle": f"{plan.project}/{plan.location}/{plan.existing or plan.instance}/{_POOL}",
                    "volume_attributes": {"ip": address, "filesystem": instance.filesystem},
                }
            },
            mount_options=[],
            parent=self,
            after=[instance],
        )
        self.register_outputs({"instance_id": self.instance_id, "claim": self.claim})

    def _made(self, name: str, plan: ManagedLustrePlan, args: Any) -> lustre.Instance:
        return lustre.Instance(
            f"{name}-lustre",
            project=plan.project,
            location=plan.location,
            instance_id=plan.instance,
            filesystem=LUSTRE_NAME,
            capacity_gib=str(plan.size_gib),
            per_unit_storage_throughput=str(plan.throughput_mbytes_per_s_per_tib),
            network=args["network"],
            labels=dict(plan.labels),
            opts=ResourceOptions(
                parent=self,
                protect=plan.protect,
                custom_timeouts=CustomTimeouts(create=_HOURS, update=_HOURS, delete=_HOURS),
            ),
        )
