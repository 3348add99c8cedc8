"""Checkpoints that last, caches that fit, file systems that are near and fast enough."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from gpufabric.hardware.lustre import lustre_throughputs
from gpufabric.hardware.managed_lustre import managed_lustre_tiers
from gpufabric.mounts.contract import HOST_ROOT
from gpufabric.policy.groups import SUBNET, gpu_groups
from gpufabric.policy.model import Resource, Setting, Settings, Stack, rule
from gpufabric.policy.rules.placement import zones_of
from gpufabric.policy.tree import Node, NotCheckedError
from gpufabric.policy.workloads import GPU, KUBERNETES, Pods, pods_of

R = TypeVar("R")

FSX: Final = "aws:fsx/lustreFileSystem:LustreFileSystem"
EFS: Final = "aws:efs/fileSystem:FileSystem"
S3: Final = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
S3_VERSIONS: Final = "aws:s3/bucketVersioning*"
GCS: Final = "gcp:storage/bucket:Bucket"
GOOGLE_LUSTRE: Final = "gcp:lustre/instance:Instance"
FILESTORE: Final = "gcp:filestore/instance:Instance"
FILE_SYSTEMS: Final = (FSX, EFS, GOOGLE_LUSTRE, FILESTORE)
CLAIM: Final = "kubernetes:core/v1:PersistentVolumeClaim"
VOLUME: Final = "kubernetes:core/v1:PersistentVolume"

_PATHS: Final = Setting(
    name="paths",
    kind="string",
    default="(^|/)(checkpoints?|ckpts?)(/|$)",
    means="regular expression of the mount paths that hold checkpoints",
)
_BUCKETS: Final = Setting(
    name="names",
    kind="string",
    default="checkpoint|ckpt|weights|model",
    means="regular expression of the names of buckets that hold checkpoints or weights",
)


def _checkpoints(pods: Pods, settings: Settings) -> Iterator[tuple[str, Node]]:
    """Mount path and volume of each mount that holds checkpoints."""
    for container in pods.containers:
        for mount in container["volumeMounts"].items():
            path = mount["mountPath"].text()
            if re.search(settings["paths"], path):
                yield path, pods.volume(mount["name"].text())


@rule(
    "checkpoint-durable",
    kinds=(KUBERNETES,),
    severity="critical",
    why="Local disks are fast and are gone with the pod or the node: weeks of training with them.",
    fix="Mount a bucket (CachedMount), a file system or a claim there. A host path that is itself such a mount goes into "
    "`mounts`.",
    settings=(
        _PATHS,
        Setting(
            name="mounts",
            kind="array",
            of="string",
            default=[HOST_ROOT],
            means="host paths under which durable storage is mounted",
        ),
    ),
)
def checkpoint_durable(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Checkpoints are not written to an emptyDir or a local disk."""
    for pods in pods_of(resource):
        for path, volume in _checkpoints(pods, settings):
            if volume["emptyDir"].value is not None:
                yield f"{path} is an emptyDir, gone with its pod"
            host = volume.at("hostPath.path").text()
            if host and not any(host == each or host.startswith(f"{each.rstrip('/')}/") for each in settings["mounts"]):
                yield f"{path} is the node's own {host}, gone with the node"


@rule(
    "checkpoint-can-rename",
    kinds=(KUBERNETES,),
    severity="high",
    needs_stack=True,
    why="torch.distributed.checkpoint and safetensors write a file and rename it; Mountpoint cannot rename in a general-purpose"
    " bucket, so the first save fails (mountpoint-s3-csi-driver issue 463).",
    fix="Use an S3 Express One Zone bucket, a file system, or CachedMount for checkpoints; Mountpoint is for datasets.",
    settings=(_PATHS,),
)
def checkpoint_can_rename(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Checkpoints are not written through Mountpoint into a general-purpose bucket."""
    for pods in pods_of(resource):
        for path, volume in _checkpoints(pods, settings):
            claim = _named(stack, CLAIM, volume.at("persistentVolumeClaim.claimName").text())
            found = _named(stack, VOLUME, claim.props.at("spec.volumeName").text()) if claim else None
            if found is None or found.props.at("spec.csi.driver").text() != "s3.csi.aws.com":
                continue
            bucket = found.props.at("spec.csi.volumeAttributes.bucketName").text()
            if not bucket.endswith("--x-s3"):
                yield f"{path} is the bucket {bucket} through Mountpoint, which cannot rename there"


def _named(stack: Stack, kind: str, name: str) -> Resource | None:
    """A Kubernetes object by its name in the cluster."""
    return next((each for each in stack.of(kind) if name and each.props.at("metadata.name").text() == name), None)


@rule(
    "checkpoint-retained",
    kinds=(*S3, GCS, *FILE_SYSTEMS),
    severity="critical",
    needs_stack=True,
    why="A destroy, a rename or a typing mistake in a pull request deletes weeks of training.",
    fix="Buckets: no `forceDestroy`, versioning on. File systems: `protect=True`.",
    settings=(_BUCKETS,),
)
def checkpoint_retained(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """What holds checkpoints survives a destroy: buckets are versioned and not emptied, file systems are protected."""
    if resource.kind in FILE_SYSTEMS:
        if not resource.protect and resource.props["deploymentType"].value not in ("SCRATCH_1", "SCRATCH_2"):
            yield "the file system is not protected"
        return
    names = [resource.name]
    for key in ("bucket", "name"):
        names += [] if resource.props[key].unknown else [resource.props[key].text()]
    if not any(re.search(settings["names"], each, re.IGNORECASE) for each in names):
        return
    if resource.props["forceDestroy"].flag():
        yield "forceDestroy is true: a destroy deletes all objects"
    if resource.kind == GCS:
        kept = resource.props.at("softDeletePolicy.retentionDurationSeconds").number()
        if not resource.props.at("versioning.enabled").flag() and kept == 0:
            yield "neither versioning nor soft delete"
        return
    versions = [each.props.at("versioningConfiguration.status") for _, each in stack.referring(resource, S3_VERSIONS)]
    on = any(each.text() == "Enabled" for each in versions)
    if not on and not any(each["enabled"].flag() for each in resource.props["versioning"].items()):
        yield "versioning is not on"


def _mount_words(pods: Pods) -> Iterator[tuple[Node, list[str]]]:
    """Containers that run `rclone mount` with a write-back cache, and their command line."""
    for container in pods.containers:
        words = [*container["command"].texts(), *container["args"].texts()]
        line = " ".join(words).split()
        if any("rclone" in word for word in line) and "mount" in line and _option(line, "vfs-cache-mode") in ("writes", "full"):
            yield container, line


def _option(line: list[str], name: str) -> str:
    for position, word in enumerate(line):
        if word.startswith(f"--{name}="):
            return word.partition("=")[2]
        if word == f"--{name}" and position + 1 < len(line):
            return line[position + 1]
    return ""


_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


def size_bytes(text: str) -> int:
    """Bytes of a size as Kubernetes (`10Gi`, `5G`) or rclone (`10G`, binary) writes it; 0 for none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp]?)(i?)b?", text.strip().lower())
    return int(float(found[1]) * _UNITS[found[2]]) if found else 0


@rule(
    "cache-fits-disk",
    kinds=(KUBERNETES,),
    severity="high",
    why="A write-back cache that outgrows its disk fails writes; one that cannot be flushed before the pod is killed loses the "
    "last checkpoint (SkyPilot issue 8519).",
    fix="Give `--vfs-cache-max-size` below the size of the cache's volume, and a `terminationGracePeriodSeconds` in which the "
    "cache can be uploaded; or use CachedMount.",
    settings=(
        Setting(
            name="upload_mbytes_per_s",
            kind="number",
            default=200,
            least=1,
            means="what one node uploads to the bucket, MB/s (a choice: measure yours)",
        ),
    ),
)
def cache_fits_disk(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """The write-back cache of an rclone mount is bounded, fits its volume, and can be flushed in the pod's grace period."""
    for pods in pods_of(resource):
        for container, line in _mount_words(pods):
            most = size_bytes(_option(line, "vfs-cache-max-size"))
            if not most:
                yield "no --vfs-cache-max-size: the cache grows until the disk is full"
                continue
            folder = _option(line, "cache-dir")
            for mount in container["volumeMounts"].items():
                if folder and folder.startswith(mount["mountPath"].text() or "?"):
                    limit = size_bytes(pods.volume(mount["name"].text()).at("emptyDir.sizeLimit").text())
                    if limit and most > limit:
                        yield f"a cache of {most >> 20} MiB on a volume of {limit >> 20} MiB"
            grace = pods.spec["terminationGracePeriodSeconds"].whole(30)
            needed = most / (settings["upload_mbytes_per_s"] * 1e6)
            if grace < needed:
                rate = settings["upload_mbytes_per_s"]
                yield f"{grace} s of grace; {most >> 20} MiB at {rate:g} MB/s take {needed:.0f} s to upload"


@rule(
    "storage-same-zone",
    kinds=(*S3, GCS, *FILE_SYSTEMS),
    severity="high",
    needs_stack=True,
    why="A file system in another zone, or a bucket in another region, is slow for every read, and each GB is billed.",
    fix="Put the file system into the GPU group's zone and the bucket into its region.",
)
def storage_same_zone(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """File systems stand in the zone, buckets in the region of the GPU nodes that read them."""
    cloud = "gcp" if resource.kind.startswith("gcp:") else "aws"
    groups = [each for each in gpu_groups(stack) if each.cloud == cloud]
    if not groups:
        return
    if resource.kind == FSX:
        subnets = stack.linked(resource, "subnetIds", SUBNET)
        here = {each.props["availabilityZone"].text() for each in subnets} - {""}
        zones = {zone for each in groups for zone in zones_of(each.resource, stack)}
        if not here:
            raise NotCheckedError("its subnet is not part of this program")
        if not here & zones:
            yield f"in {', '.join(sorted(here))}; the GPU nodes are in {', '.join(sorted(zones))}"
    elif resource.kind in (GOOGLE_LUSTRE, FILESTORE):
        place = resource.props["location"].text()
        zones = {zone for each in groups for zone in zones_of(each.resource, stack)}
        if place and not any(zone == place or zone.startswith(f"{place}-") for zone in zones):
            yield f"in {place}; the GPU nodes are in {', '.join(sorted(zones))}"
    elif resource.kind == GCS:
        place = resource.props["location"].text().lower()
        regions = {each.region.lower() for each in groups if each.region}
        if place.count("-") == 1 and regions and place not in regions:
            yield f"in {place}; the GPU nodes are in {', '.join(sorted(regions))}"
    else:
        place = resource.props["region"].text() or resource.provider["region"].text()
        regions = {each.region for each in groups if each.region}
        if place and regions and place not in regions:
            yield f"in {place}; the GPU nodes are in {', '.join(sorted(regions))}"


@rule(
    "fs-throughput-per-gpu",
    kinds=(FSX, GOOGLE_LUSTRE),
    severity="medium",
    prod="advisory",
    needs_stack=True,
    why="GPUs that wait for data cost as much as those that compute.",
    fix="Buy more capacity or more throughput per TiB, or cache the dataset on local NVMe.",
    settings=(
        Setting(
            name="mbytes_per_s_per_gpu",
            kind="number",
            default=100,
            least=0,
            means="least MB/s of the file system for each GPU of the stack (a choice: depends on what is trained)",
        ),
    ),
)
def fs_throughput_per_gpu(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A file system gives each GPU its least throughput."""
    gpus = sum(each.gpus for each in gpu_groups(stack))
    if not gpus:
        return
    size = resource.props["storageCapacity" if resource.kind == FSX else "capacityGib"].number()
    rate = resource.props["perUnitStorageThroughput"].number()
    if size is None or rate is None:
        raise NotCheckedError("its throughput is not given")
    each = size / 1024 * rate / gpus
    if each < settings["mbytes_per_s_per_gpu"]:
        yield f"{size:g} GiB at {rate:g} MB/s per TiB give {each:.0f} MB/s to each of {gpus} GPUs"


@rule(
    "filesystem-size",
    kinds=(FSX, GOOGLE_LUSTRE),
    severity="high",
    dev="mandatory",
    why="FSx for Lustre sells only certain sizes, and with EFA only multiples of larger ones; a preview shows no error, "
    "the update does.",
    fix="Write one of the sizes of the message.",
)
def filesystem_size(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A Lustre file system has a size that can be bought; with EFA it has what EFA needs."""
    if resource.kind == GOOGLE_LUSTRE:
        rate, size = resource.props["perUnitStorageThroughput"].whole(), resource.props["capacityGib"].whole()
        yield from _size(rate, size, managed_lustre_tiers(), lambda row: row.nearest_sizes_gib(size))
        return
    props = resource.props
    efa = props["efaEnabled"].flag()
    if efa and props["deploymentType"].text() != "PERSISTENT_2":
        yield f"efaEnabled with {props['deploymentType'].text() or 'SCRATCH_1'}; only PERSISTENT_2 serves EFA"
    if efa and not props["metadataConfiguration"].present:
        yield "efaEnabled without metadataConfiguration"
    if props["deploymentType"].text() != "PERSISTENT_2" or props["storageType"].text() not in ("", "SSD"):
        return
    rate, size = props["perUnitStorageThroughput"].whole(), props["storageCapacity"].whole()
    with_efa = " with EFA" if efa else ""
    yield from _size(rate, size, lustre_throughputs(), lambda row: row.nearest_sizes_gib(size, efa=efa), with_efa)


def _size(rate: int, size: int, rows: Mapping[int, R], nearest: Callable[[R], tuple[int, ...]], how: str = "") -> Iterator[str]:
    """``rows`` by MB/s per TiB."""
    row = rows.get(rate)
    if row is None:
        yield f"perUnitStorageThroughput {rate}; sold are {', '.join(str(each) for each in sorted(rows))}"
    elif size and nearest(row) != (size,):
        found = " or ".join(str(each) for each in nearest(row))
        yield f"{size} GiB at {rate} MB/s per TiB{how}; the nearest that can be bought: {found}"


_LASTING: Final = ("persistentVolumeClaim", "csi", "nfs", "hostPath", "ephemeral")


@rule(
    "spot-needs-checkpoint",
    kinds=(KUBERNETES,),
    severity="high",
    needs_stack=True,
    why="A spot node is taken away with two minutes' notice, and with it the whole gang.",
    fix="Mount a store for checkpoints into the job and save often; or run it on capacity that stays.",
)
def spot_needs_checkpoint(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A job over several nodes in a stack with spot GPUs has storage that outlives a node."""
    spot = [group.resource.name for group in gpu_groups(stack) if group.way == "spot"]
    if not spot:
        return
    for pods in pods_of(resource):
        if pods.copies < 2 or not pods.asks(GPU):
            continue
        volumes = pods.spec["volumes"].items()
        if not any(each[kind].value is not None for each in volumes for kind in _LASTING):
            yield f"{pods.copies} pods with GPUs, spot nodes ({', '.join(spot)}), and no volume that outlives a node"
