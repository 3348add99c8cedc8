"""A bucket by the cluster's own CSI driver: one volume, and the claim of it that pods of one namespace name.

What the drivers take is from GoogleCloudPlatform/gcs-fuse-csi-driver and awslabs/mountpoint-s3-csi-driver, 2026-08.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.hardware.bucket_drivers import GCSFUSE, bucket_drivers
from gpufabric.plan.gate import digest
from gpufabric.plan.mounts.pod import PodClaimed
from gpufabric.plan.mounts.rclone import purpose_preset
from gpufabric.plan.names import dns_label, mount_name
from gpufabric.spec.mounts import BucketMountSpec

NAMESPACE = "default"
"""Of claims, where none is given: it is there in every cluster."""
SIDECAR: Mapping[str, str] = {
    "gke-gcsfuse/volumes": "true",
    # "0" is no limit. By itself the sidecar has a quarter of a CPU, and takes the bucket away when 256 MiB are not enough.
    "gke-gcsfuse/cpu-limit": "0",
    "gke-gcsfuse/memory-limit": "0",
    "gke-gcsfuse/ephemeral-storage-limit": "0",
}
"""Annotations of a pod: GKE puts the container in which gcsfuse runs beside its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsiMountPlan:
    """The volume and its claim. ``volume`` is named after all that it is: neither can be changed, so that another is made."""

    mount: str
    namespace: str
    claim: str
    volume: str
    driver: str
    volume_handle: str
    volume_attributes: Mapping[str, str]
    mount_options: tuple[str, ...]
    access_mode: str
    pod: PodClaimed
    account: None = None
    """Nothing of the mount's own reaches the bucket: gcsfuse has the identity of each pod, Mountpoint that of the driver."""


def csi_mount(wish: BucketMountSpec, stack: str) -> CsiMountPlan:
    """The plan of a bucket that a CSI driver mounts, of a wish without problems."""
    read_only = wish.read_only is not False
    options, attributes = _gcsfuse(wish, read_only) if wish.driver == GCSFUSE else _mountpoint(wish, read_only)
    claim = mount_name(wish.name, stack)
    what = digest([wish.bucket.model_dump(), options, attributes, read_only])
    volume = dns_label(f"{claim}-{what[:8]}")
    return CsiMountPlan(
        mount=wish.name,
        namespace=wish.namespace or NAMESPACE,
        claim=claim,
        volume=volume,
        driver=bucket_drivers()[wish.driver].csi_name,
        # Kubernetes mounts a handle once in a pod. Of gcsfuse's, what stands before the colon is the bucket.
        volume_handle=f"{wish.bucket.name}:{volume}" if wish.driver == GCSFUSE else volume,
        volume_attributes=attributes,
        mount_options=tuple(options),
        access_mode="ReadOnlyMany" if read_only else "ReadWriteMany",
        pod=PodClaimed(
            mount=wish.name,
            path=wish.path,
            claim=claim,
            read_only=read_only,
            annotations=SIDECAR if wish.driver == GCSFUSE else {},
        ),
    )


def _gcsfuse(wish: BucketMountSpec, read_only: bool) -> tuple[list[str], dict[str, str]]:
    """Folders exist by their objects' names (``implicit-dirs``): what another tool uploaded is seen, too.

    The cache is in an ``emptyDir`` of the pod, which GKE keeps on the node's local SSD.
    """
    options = ["implicit-dirs", f"metadata-cache:ttl-secs:{_listing_s(wish)}"]
    options += [f"only-dir={wish.bucket.prefix}"] if wish.bucket.prefix else []
    options += ["ro"] if read_only else ["file-mode=666", "dir-mode=777"]
    if wish.cache_gib:
        options += [f"file-cache:max-size-mb:{wish.cache_gib * 1024}", "file-cache:cache-file-for-range-read:true"]
    return options, {}


def _mountpoint(wish: BucketMountSpec, read_only: bool) -> tuple[list[str], dict[str, str]]:
    """The cache is in an ``emptyDir`` of Mountpoint's own pod, which is on the node's striped disks where it has some."""
    listing = _listing_s(wish)
    options = [f"region {wish.bucket.region}", "allow-other", f"metadata-ttl {listing or 'minimal'}"]
    options += [f"prefix {wish.bucket.prefix}/"] if wish.bucket.prefix else []
    # It runs as a user of its own: without the modes a container that is not root could write nothing.
    options += ["read-only"] if read_only else ["allow-delete", "allow-overwrite", "file-mode 0666", "dir-mode 0777"]
    attributes = {"bucketName": wish.bucket.name, "authenticationSource": "driver"}
    if wish.cache_gib:
        attributes |= {"cache": "emptyDir", "cacheEmptyDirSizeLimit": f"{wish.cache_gib}Gi"}
    return options, attributes


def _listing_s(wish: BucketMountSpec) -> int:
    """Said always: on GPU machines gcsfuse would believe a listing for ever (automated configurations)."""
    return purpose_preset(wish).dir_cache_s if wish.dir_cache_s is None else wish.dir_cache_s
