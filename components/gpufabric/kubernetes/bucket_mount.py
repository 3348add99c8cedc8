"""MOUNT: a bucket without a cache. What a program has closed is in the bucket; a save takes the bucket's time."""

from collections.abc import Mapping
from typing import Any, NotRequired

from pulumi import ComponentResource, Output, ResourceOptions, get_stack

from gpufabric.kubernetes.mounted import MountArgs, mount_objects
from gpufabric.plan.mounts import CsiMountPlan, PodFolder, resolve_bucket_mount
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import BucketMountSpec

_IGNORED_GIB = 1  # of a volume that is a bucket: Kubernetes asks for a size, and drivers ignore it


class BucketMountArgs(MountArgs):
    """Arguments of :class:`gpufabric.kubernetes.BucketMount`."""

    purpose: NotRequired[str]
    """What it is used for: ``model`` or ``dataset``. ``checkpoint`` is refused. Default: ``model``."""
    driver: NotRequired[str]
    """Who mounts it: ``rclone`` (default) on every node, or the cluster's CSI driver, by a claim in each job's pod: ``gcsfuse``
    (GKE; the pod's service account must reach the bucket) or ``mountpoint`` (EKS; the driver's role must)."""
    cache_gib: NotRequired[int]
    """Of a CSI driver: what it keeps of what was read, on the node's disk for each pod, 1 to 100,000 GiB. Default: nothing."""


class BucketMount(ComponentResource):
    """A bucket, read and written straight: for models and data sets, not for checkpoints.

    By rclone it is on every node of a group, for pods of every namespace. By a CSI driver, which the cluster has, it is a
    claim, for pods of the claim's namespace. Mountpoint can neither rename nor append, and writes files from begin to end.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    daemon_set: Output[str]
    """``namespace/name`` of rclone's DaemonSet; empty with a CSI driver."""
    claim: Output[str]
    """``namespace/name`` of a CSI driver's claim; empty with rclone."""
    pod: Output[Mapping[str, Any]]
    """What a pod needs, as plain data: ``files``, ``volume``, ``volumeMount``; with gcsfuse ``podAnnotations``, too."""

    def __init__(self, name: str, args: BucketMountArgs, opts: ResourceOptions | None = None) -> None:
        wish = BucketMountSpec.parse(args, name)
        try:
            plan = resolve_bucket_mount(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        self.pod_mount: PodFolder = plan.pod  # merges the mount into a pod; known before anything is deployed
        super().__init__("gpufabric:index:BucketMount", name, {}, opts)
        self.daemon_set = self.claim = Output.from_input("")
        if isinstance(plan, CsiMountPlan):
            self.claim = self._claim(name, plan)
        else:
            self.daemon_set = mount_objects(self, name, plan, []).id
        self.pod = Output.from_input(plan.pod.to_dict())
        self.register_outputs({"daemon_set": self.daemon_set, "claim": self.claim, "pod": self.pod})

    def _claim(self, name: str, plan: CsiMountPlan) -> Output[str]:
        from gpufabric.kubernetes.volumes import shared_volume  # only for those who have a claim

        attributes = {"volume_attributes": dict(plan.volume_attributes)} if plan.volume_attributes else {}
        return shared_volume(
            name,
            claim=plan.claim,
            namespace=plan.namespace,
            size_gib=_IGNORED_GIB,
            source={"csi": {"driver": plan.driver, "volume_handle": plan.volume_handle, **attributes}},
            mount_options=plan.mount_options,
            parent=self,
            access_mode=plan.access_mode,
            volume_name=plan.volume,
        )
