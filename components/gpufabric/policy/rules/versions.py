"""What was validated is what runs again: pinned images, charts, node images, Kubernetes versions."""

from collections.abc import Iterator
from typing import Final

from gpufabric.hardware import eks_versions
from gpufabric.policy.groups import EKS_GROUP, GKE_POOL, gpu_group
from gpufabric.policy.model import Resource, Setting, Settings, Stack, rule
from gpufabric.policy.rules.access import EKS_CLUSTER, GKE_CLUSTER
from gpufabric.policy.rules.nodes import HELM
from gpufabric.policy.tree import NotCheckedError
from gpufabric.policy.workloads import KUBERNETES, pods_of

MOVING: Final = frozenset({"$Latest", "$Default"})


@rule(
    "pinned-versions",
    kinds=(EKS_GROUP, EKS_CLUSTER, GKE_POOL, KUBERNETES),
    severity="high",
    needs_stack=True,
    why="A moving version changes nodes or libraries under a validated cluster: an unplanned drain, or another NCCL than "
    "was measured.",
    fix="Pin node images (`releaseVersion` or `imageId`), template versions, charts and image tags or digests; run a Kubernetes"
    " version that the table knows.",
    settings=(
        Setting(
            name="local", kind="array", of="string", default=[], means="images that may be unpinned, such as those built in CI"
        ),
    ),
    tags=("CKV_AWS_339",),
)
def pinned_versions(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Kubernetes is of a supported version; node images, charts and container images are pinned."""
    if resource.kind == EKS_CLUSTER:
        yield from _kubernetes(resource.props["version"].text())
    elif resource.kind == EKS_GROUP:
        yield from _node_image(resource, stack)
    elif resource.kind == GKE_POOL:
        yield from _upgrades(resource, stack)
    elif resource.kind in HELM:
        if not resource.props["version"].present and not resource.props["chart"].text().startswith((".", "/")):
            yield f"chart {resource.props['chart'].text()} without a version"
    else:
        for pods in pods_of(resource):
            for each in pods.containers:
                yield from _image(each["image"].text(), settings["local"])


def _kubernetes(version: str) -> Iterator[str]:
    known = eks_versions()
    if not version:
        yield "no Kubernetes version: AWS takes its newest"
    elif version not in known:
        if _number(version) < min(_number(each) for each in known):
            yield f"Kubernetes {version}; standard support begins at {min(known, key=_number)}"
        else:
            raise NotCheckedError(f"Kubernetes {version} stands in no table; known: {', '.join(known)}")


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if not all(each.isdigit() for each in parts):
        raise NotCheckedError(f"{version!r} is no Kubernetes version")
    return tuple(int(each) for each in parts)


def _node_image(resource: Resource, stack: Stack) -> Iterator[str]:
    group = gpu_group(resource, stack)
    if group is None:
        return
    template = resource.props["launchTemplate"]
    image = group.template.props["imageId"].text() if group.template else ""
    if image.startswith("resolve:ssm:") and not image.rpartition(":")[2].isdigit():
        yield f"imageId {image} is resolved anew at every launch"
    if not image and not resource.props["releaseVersion"].present:
        yield "neither releaseVersion nor an image of its own: a repaired node may boot another image"
    if not template["version"].unknown and template["version"].text() in MOVING:
        yield f"launch template version {template['version'].text()}"


def _upgrades(pool: Resource, stack: Stack) -> Iterator[str]:
    """GKE moves nodes to new versions by itself, unless the cluster's maintenance policy keeps it from that."""
    if gpu_group(pool, stack) is None or not pool.props.at("management.autoUpgrade").flag():
        return
    clusters = stack.linked(pool, "cluster", GKE_CLUSTER)
    if not clusters:
        raise NotCheckedError("its cluster's maintenance policy is not part of this program")
    if not clusters[0].props.at("maintenancePolicy.maintenanceExclusions").present:
        yield "autoUpgrade, and the cluster has no maintenance exclusion: GKE drains the nodes when it likes"


def _image(image: str, local: list[str]) -> Iterator[str]:
    if not image or image in local or "@sha256:" in image:
        return
    tag = image.rpartition("/")[2].partition(":")[2]
    if not tag or tag == "latest":
        yield f"image {image} has {'the tag latest' if tag else 'no tag'}"
