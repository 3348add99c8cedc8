"""MOUNT_CACHED: a bucket behind a cache on the node's NVMe. A save takes the disk's time; the upload follows."""

from collections.abc import Mapping
from typing import Any, NotRequired

from pulumi import ComponentResource, Output, ResourceOptions, get_stack
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding

from gpufabric.kubernetes.mounted import MountArgs, mount_objects
from gpufabric.plan.mounts import PodMount, resolve_cached_mount
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import CachedMountSpec

_MANAGED = {"app.kubernetes.io/managed-by": "pulumi"}


class CachedMountArgs(MountArgs):
    """Arguments of :class:`gpufabric.kubernetes.CachedMount`."""

    preset: NotRequired[str]
    """What it is used for: ``checkpoint`` (written and read whole) or ``dataset`` (read in pieces). Default: ``checkpoint``."""
    cache_path: str
    """Folder of the node's local NVMe that holds the cache; each mount has one of its own below it."""
    cache_must_exist: NotRequired[bool]
    """The folder is never made: the mount waits for it, as for ``cache`` of ``LocalNvme``. Default: false."""
    cache_gib: int
    """Size that the cache keeps to, 1 to 100,000 GiB. Files that are not uploaded yet are never given up for it."""
    checkpoint_gib: NotRequired[float]
    """What one node writes per checkpoint, above 0 and up to 100,000 GiB; the cache must hold two. Default: not known."""
    upload_mbytes_per_s: NotRequired[float]
    """Rate of one node to the bucket, measured, above 0 and up to 100,000 MB/s: a drain must fit. Default: not known."""
    drain_seconds: NotRequired[int]
    """How long an ending pod, or the mount itself, waits for its uploads, seconds, 1 to 86,400. Default: 600."""
    transfers: NotRequired[int]
    """Files uploaded at once, 1 to 64; 1 keeps their order. Default: the preset's."""
    write_back_s: NotRequired[int]
    """Rest between the last close of a file and its upload, seconds, 0 to 86,400. Default: the preset's."""


class CachedMount(ComponentResource):
    """A bucket on every node of a group, behind a cache: pods write at the disk's speed, the mount uploads what they closed.

    Give a job ``pod_mount.apply_to(spec)``. While a node holds files that are not in the bucket, the cluster refuses to remove
    the mount, and says how much is left.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    daemon_set: Output[str]
    """``namespace/name`` of the DaemonSet."""
    pod: Output[Mapping[str, Any]]
    """What a pod needs, as plain data: ``files``, ``flush``, ``volume``, ``volumeMount``, ``preStop``, and the grace period."""

    def __init__(self, name: str, args: CachedMountArgs, opts: ResourceOptions | None = None) -> None:
        wish = CachedMountSpec.parse(args, name)
        try:
            plan = resolve_cached_mount(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        self.pod_mount: PodMount = plan.pod  # merges the mount into a pod; known before anything is deployed
        super().__init__("gpufabric:index:CachedMount", name, {}, opts)
        meta = {"name": plan.guard_name, "labels": _MANAGED}
        policy = ValidatingAdmissionPolicy(
            f"{name}-guard", metadata=meta, spec=dict(plan.guard), opts=ResourceOptions(parent=self)
        )
        binding = ValidatingAdmissionPolicyBinding(
            f"{name}-guard-binding",
            metadata=meta,
            spec=dict(plan.guard_binding),
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.daemon_set = mount_objects(self, name, plan, [binding]).id
        self.pod = Output.from_input(plan.pod.to_dict())
        self.register_outputs({"daemon_set": self.daemon_set, "pod": self.pod})
