"""MOUNT: a bucket without a cache. What a program has closed is in the bucket; a save takes the bucket's time."""

from collections.abc import Mapping
from typing import Any, NotRequired

from pulumi import ComponentResource, Output, ResourceOptions, get_stack

from gpufabric.kubernetes.mounted import MountArgs, mount_objects
from gpufabric.plan.mounts import PodMount, resolve_bucket_mount
from gpufabric.spec import SpecError
from gpufabric.spec.mounts import BucketMountSpec


class BucketMountArgs(MountArgs):
    """Arguments of :class:`gpufabric.kubernetes.BucketMount`."""

    purpose: NotRequired[str]
    """What it is used for: ``model`` or ``dataset``. ``checkpoint`` is refused. Default: ``model``."""


class BucketMount(ComponentResource):
    """A bucket on every node of a group, read and written straight: for models and data sets, not for checkpoints.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    daemon_set: Output[str]
    """``namespace/name`` of the DaemonSet."""
    pod: Output[Mapping[str, Any]]
    """What a pod needs, as plain data: ``files``, ``volume``, ``volumeMount``."""

    def __init__(self, name: str, args: BucketMountArgs, opts: ResourceOptions | None = None) -> None:
        wish = BucketMountSpec.parse(args, name)
        try:
            plan = resolve_bucket_mount(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        self.pod_mount: PodMount = plan.pod  # merges the mount into a pod; known before anything is deployed
        super().__init__("gpufabric:index:BucketMount", name, {}, opts)
        self.daemon_set = mount_objects(self, name, plan, []).id
        self.pod = Output.from_input(plan.pod.to_dict())
        self.register_outputs({"daemon_set": self.daemon_set, "pod": self.pod})
