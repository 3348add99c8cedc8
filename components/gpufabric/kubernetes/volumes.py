"""A file system that exists as a claim that pods of many nodes mount at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_kubernetes.core.v1 import PersistentVolume, PersistentVolumeClaim


def shared_volume(
    name: str,
    *,
    claim: str,
    namespace: str,
    size_gib: Input[int],
    source: Mapping[str, Any],
    mount_options: Sequence[str],
    parent: Resource,
    after: Sequence[Resource] = (),
    access_mode: str = "ReadWriteMany",
    volume_name: str | None = None,
) -> Output[str]:
    """A volume and the one claim that is bound to it; yields ``namespace/name`` of the claim.

    What is in it outlives both (``Retain``). ``source``: ``csi`` or ``nfs`` of the volume. ``after``: what has to be there
    first, such as the driver. ``volume_name``: of the volume in the cluster; by itself a random one.
    """
    size = Output.from_input(size_gib).apply(lambda gib: f"{gib}Gi")
    spec: dict[str, Any] = {"access_modes": [access_mode], "storage_class_name": ""}
    volume = PersistentVolume(
        f"{name}-volume",
        metadata={"name": volume_name} if volume_name else None,
        spec={
            **spec,
            "claim_ref": {"namespace": namespace, "name": claim},  # nobody else's claim is bound to it
            "capacity": {"storage": size},
            "persistent_volume_reclaim_policy": "Retain",
            "mount_options": list(mount_options),
            **source,
        },
        opts=ResourceOptions(parent=parent, depends_on=list(after)),
    )
    made = PersistentVolumeClaim(
        f"{name}-claim",
        metadata={"name": claim, "namespace": namespace},
        spec={**spec, "resources": {"requests": {"storage": size}}, "volume_name": volume.metadata.apply(_name)},
        opts=ResourceOptions(parent=parent),
    )
    named: Output[str] = made.id
    return named


def _name(metadata: Any) -> str:
    return str(metadata.name)
