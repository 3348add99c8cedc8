"""A shared file system of one's own, NFS or by a CSI driver, as a claim that pods of many nodes mount at once."""

from typing import NotRequired, TypedDict

from pulumi import ComponentResource, Output, ResourceOptions, get_stack

from gpufabric.kubernetes.storage_args import CsiVolumeArgs, NfsArgs
from gpufabric.kubernetes.volumes import shared_volume
from gpufabric.plan.shared_filesystem import plan_shared_filesystem
from gpufabric.spec import SpecError
from gpufabric.spec.shared_filesystem import SharedFilesystemSpec


class SharedFilesystemArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.SharedFilesystem`."""

    nfs: NotRequired[NfsArgs]
    """A folder of an NFS server. Exactly one of ``nfs`` and ``csi``."""
    csi: NotRequired[CsiVolumeArgs]
    """A volume of a CSI driver that the cluster has. Exactly one of ``nfs`` and ``csi``."""
    mount_options: NotRequired[list[str]]
    """Options of the mount, such as ``nconnect=16``. Default: none."""
    claim: NotRequired[str]
    """Name of the PersistentVolumeClaim that pods mount. Default: ``shared``."""
    namespace: NotRequired[str]
    """Namespace of the claim; it exists. Default: ``default``."""
    size_gib: NotRequired[int]
    """What the claim says that it holds, 1 to 100,000,000 GiB; nothing enforces it. Default: 1."""


class SharedFilesystem(ComponentResource):
    """A file system that a server offers, as a volume and a claim (ReadWriteMany). Nothing of the server is made or changed.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    claim: Output[str]
    """``namespace/name`` of the claim."""

    def __init__(self, name: str, args: SharedFilesystemArgs, opts: ResourceOptions | None = None) -> None:
        wish = SharedFilesystemSpec.parse(args, name)
        try:
            plan = plan_shared_filesystem(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:SharedFilesystem", name, {}, opts)
        self.claim = shared_volume(
            name,
            claim=plan.claim,
            namespace=plan.namespace,
            size_gib=plan.size_gib,
            source=plan.source,
            mount_options=plan.mount_options,
            parent=self,
            volume_name=plan.volume,
        )
        self.register_outputs({"claim": self.claim})
