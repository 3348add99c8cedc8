"""A Filestore instance (NFS) for a training cluster, and a claim that pods mount."""

from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, ResourceOptions
from pulumi_gcp import filestore

from gpufabric.kubernetes.handles import given, wishes
from gpufabric.kubernetes.volumes import shared_volume
from gpufabric.plan.gcp.filesystem import FILESTORE_DRIVER, SHARE_NAME, FilestorePlan, plan_filestore
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.storage import FilestoreWish

_HANDLES = frozenset({"network"})


class FilestoreArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.Filestore`."""

    project: str
    """Project of the file system."""
    zone: str
    """Zone of the GPU nodes. A regional instance stands in its region."""
    network: NotRequired[Input[str]]
    """Path of the VPC, peered with Google's services (``network_id`` of GcpNetwork). Required, unless the instance exists."""
    size_gib: NotRequired[int]
    """Capacity, 1 to 100,000,000 GiB on Google's grid (an error offers the nearest two). Required, unless one exists."""
    tier: NotRequired[str]
    """``zonal`` (default): fast, in one zone. ``regional``: over three zones. ``basic_ssd``: small and simple."""
    existing: NotRequired[str]
    """Name of an instance that the nodes can reach, of the tier ``tier``, instead of size and network. Default: one is made."""
    claim: NotRequired[str]
    """Name of the PersistentVolumeClaim that pods mount. Default: ``shared``."""
    namespace: NotRequired[str]
    """Namespace of the claim; it exists. Default: ``default``."""
    protect: NotRequired[bool]
    """Refuse to delete the file system. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is made, at most 54. Default: none."""


class Filestore(ComponentResource):
    """An instance of Filestore as a claim in the cluster.

    Needs a Kubernetes provider of the cluster (``providers``), which runs the driver (``csi_drivers`` of GkeCluster). Nothing
    is mounted anywhere: pods name the claim.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    instance_id: Output[str]
    """Path of the instance."""
    claim: Output[str]
    """``namespace/name`` of the claim."""

    def __init__(self, name: str, args: FilestoreArgs, opts: ResourceOptions | None = None) -> None:
        wish = FilestoreWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_filestore(name, wish, handles=given(args, _HANDLES))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:Filestore", name, {}, opts)
        child = ResourceOptions(parent=self)
        found = filestore.Instance.get(f"{name}-filestore", plan.path, opts=child) if plan.existing else None
        instance = found or self._made(name, plan, args)
        self.instance_id = instance.id
        share = instance.file_shares.apply(lambda shares: str(shares.name))
        handle = share.apply(lambda found: f"modeInstance/{plan.location}/{plan.existing or plan.instance}/{found}")
        self.claim = shared_volume(
            name,
            claim=plan.claim,
            namespace=plan.namespace,
            size_gib=instance.file_shares.apply(lambda shares: int(shares.capacity_gb)),
            source={
                "csi": {
                    "driver": FILESTORE_DRIVER,
                    "volume_handle": handle,
                    "volume_attributes": {"ip": instance.networks.apply(_address), "volume": share},
                }
            },
            mount_options=[],
            parent=self,
            after=[instance],
        )
        self.register_outputs({"instance_id": self.instance_id, "claim": self.claim})

    def _made(self, name: str, plan: FilestorePlan, args: Any) -> filestore.Instance:
        return filestore.Instance(
            f"{name}-filestore",
            project=plan.project,
            location=plan.location,
            name=plan.instance,
            tier=plan.tier,
            file_shares={"name": SHARE_NAME, "capacity_gb": plan.size_gib},
            networks=[
                {"network": args["network"], "modes": ["MODE_IPV4"], "connect_mode": "PRIVATE_SERVICE_ACCESS"},
            ],
            labels=dict(plan.labels),
            opts=ResourceOptions(parent=self, protect=plan.protect),
        )


def _address(networks: Any) -> str:
    return str(networks[0].ip_addresses[0])
