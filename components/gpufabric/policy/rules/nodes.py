"""GPU node groups: what EKS refuses, images, taints, drivers."""

from collections.abc import Iterator
from typing import Final

from gpufabric.hardware import ami_types
from gpufabric.policy.groups import EKS_GROUP, GKE_POOL, gpu_group, gpu_groups, template_of
from gpufabric.policy.model import Resource, Settings, Stack, rule

GPU_TAINT: Final = "nvidia.com/gpu"
HELM: Final = ("kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Chart")


@rule(
    "launch-template-exclusive",
    kinds=(EKS_GROUP,),
    severity="high",
    dev="mandatory",
    needs_stack=True,
    why="EKS refuses a group that says a thing in two places (terraform-aws-eks issue 1386, pulumi-eks issue 1283), and starts "
    "a t3.medium where neither names a machine.",
    fix="Name the instance type in one place; with an image of your own leave `amiType`, `version` and `releaseVersion` out; "
    "put disks, remote access, subnets and instance profile where the message says.",
)
def launch_template_exclusive(group: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A managed node group and its launch template do not both decide the same thing."""
    template = template_of(group, stack)
    if template is None:
        return
    mine, its = group.props, template.props
    if its["instanceType"].present and mine["instanceTypes"].present:
        yield "the instance type stands in the launch template and in instanceTypes"
    if not its["instanceType"].present and not mine["instanceTypes"].present:
        yield "no instance type in either place: EKS would start t3.medium"
    if its["imageId"].present:
        for key in ("amiType", "version", "releaseVersion"):
            if mine[key].present:
                yield f"{key} beside imageId of the launch template"
    for key in ("diskSize", "remoteAccess"):
        if mine[key].present:
            yield f"{key} beside a launch template, where its own disks and groups belong"
    for key in ("iamInstanceProfile", "instanceInitiatedShutdownBehavior", "hibernationOptions"):
        if its[key].present:
            yield f"{key} in the launch template; EKS sets it"
    for each in its["networkInterfaces"].items():
        if each["subnetId"].present:
            yield f"{each.path}.subnetId in the launch template; the group's subnetIds decide"


@rule(
    "gpu-image",
    kinds=(EKS_GROUP,),
    severity="high",
    dev="mandatory",
    needs_stack=True,
    why="An image without GPU driver, for another architecture, or of a family that AWS makes no more, gives nodes without "
    "GPUs.",
    fix="Use `AL2023_x86_64_NVIDIA`, on Grace machines `AL2023_ARM_64_NVIDIA`.",
)
def gpu_image(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """A GPU group's image family has a GPU driver, is for its machine's architecture, and is still made."""
    group = gpu_group(resource, stack)
    name = resource.props["amiType"].text()
    if group is None or name in ("", "CUSTOM"):
        return
    known = ami_types().get(name)
    if known is None:
        if "NVIDIA" not in name and "GPU" not in name:
            yield f"{name} holds no GPU driver"
        return
    if known.architecture != group.machine.architecture:
        yield f"{name} is for {known.architecture}; {group.machine.name} is {group.machine.architecture}"
    if name.startswith("AL2_"):
        yield f"{name}: {known.refusal}"


@rule(
    "gpu-taint-and-label",
    kinds=(EKS_GROUP,),
    severity="low",
    prod="advisory",
    needs_stack=True,
    why="Without a taint CoreDNS and other pods land on GPU nodes, hold them when they should drain, and cost 50 dollars "
    "an hour.",
    fix="Taint the group `nvidia.com/gpu=present:NO_SCHEDULE`, label it, and keep a CPU group for system pods. GKE taints "
    "by itself.",
)
def gpu_taint_and_label(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """GPU groups carry the GPU taint and a label of their own."""
    if gpu_group(resource, stack) is None:
        return
    if GPU_TAINT not in [each["key"].text() for each in resource.props["taints"].items()]:
        yield f"no taint {GPU_TAINT}"
    if not resource.props["labels"].present:
        yield "no label to select it by"


def chart_name(release: Resource) -> str:
    """Last part of a chart's name or address."""
    return release.props["chart"].text().rstrip("/").rpartition("/")[2]


@rule(
    "one-driver-source",
    kinds=HELM,
    severity="high",
    needs_stack=True,
    why="A GPU operator that installs a driver on nodes whose image or cloud brings one breaks both.",
    fix="Give the operator `driver.enabled: false` and, on EKS, `toolkit.enabled: false`; on GKE alternatively install no "
    "driver (`gpuDriverVersion: INSTALLATION_DISABLED`).",
)
def one_driver_source(release: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """The GPU driver comes from the cloud's image or from the GPU operator, not from both."""
    if chart_name(release) != "gpu-operator":
        return
    values = release.props["values"]
    wanted = {key: values[key]["enabled"].value is not False for key in ("driver", "toolkit")}
    for group in gpu_groups(stack):
        pool = group.resource
        if pool.kind == EKS_GROUP and "NVIDIA" in pool.props["amiType"].text():
            for key in (key for key, on in wanted.items() if on):
                yield f"{key}.enabled is not false, and {pool.props['amiType'].text()} of {pool.name} brings the {key}"
        elif pool.kind == GKE_POOL and wanted["driver"]:
            for each in pool.props.at("nodeConfig.guestAccelerators").items():
                version = each.at("gpuDriverInstallationConfig.gpuDriverVersion").text()
                if version in ("DEFAULT", "LATEST"):
                    yield f"driver.enabled is not false, and GKE installs the driver {version} on {pool.name}"


@rule(
    "dev-scales-to-zero",
    kinds=(EKS_GROUP, GKE_POOL),
    severity="low",
    prod="disabled",
    needs_stack=True,
    why="GPU nodes that wait for work cost as much as those that work.",
    fix="Set the smallest size to 0 and let the group be scaled by demand or by hand.",
)
def dev_scales_to_zero(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """GPU groups of a development stack can shrink to nothing."""
    group = gpu_group(resource, stack)
    if group is not None and group.least_nodes > 0:
        yield f"at least {group.least_nodes} x {group.machine.name} always run"
