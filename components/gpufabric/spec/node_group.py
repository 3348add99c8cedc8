"""Wishes about one group of equal nodes."""

import re
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import AfterValidator, Field

from gpufabric.spec.base import LABEL_KEY, WholeNumber, Wish, matching, name_part
from gpufabric.spec.paths import NodePath
from gpufabric.spec.problems import shown
from gpufabric.spec.scheduler import GroupSchedulerSpec

# The longest name made from a group's is `<group>-ranks-<index>.<group>-ranks`; 20 letters leave room in every limit.
NAME_LETTERS = 20
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_RESOURCE = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENV_VALUE = re.compile("[^\\x00\\ud800-\\udfff]*")
_ACCELERATORS = re.compile(r"cpu|[A-Za-z0-9-]{1,40}:[1-9][0-9]?")
_INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
_HCA = re.compile(r"[\^=]{0,2}[A-Za-z0-9_.:-]{1,63}")
_NAME = r"[a-z0-9]+([._-]+[a-z0-9]+)*"  # names, tag and digest as the OCI distribution specification has them
_IMAGE = re.compile(
    rf"((?=[^/]*[.:])[A-Za-z0-9.-]+(:[0-9]+)?/)?{_NAME}(/{_NAME})*(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?"
)


def _selector(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise ValueError("empty: it would select every node of the cluster; write the label that only this group's nodes have")
    for key, text in value.items():
        if not LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(text):
            raise ValueError(
                f"{shown(f'{key}={text}')} is not a Kubernetes label; write it as kubectl get nodes --show-labels shows it"
            )
        if key == "gpufabric.dev/validated":
            raise ValueError(
                "gpufabric.dev/validated is the gate's own verdict; select by a label that says which nodes, not how they did"
            )
    return value


def _accelerators(value: str) -> str:
    if not _ACCELERATORS.fullmatch(value):
        raise ValueError(f"{shown(value)} is not NAME:COUNT; write for example H100:8 (eight per node), or cpu")
    return value


def _resources(value: dict[str, int]) -> dict[str, int]:
    for key in value:
        if not _RESOURCE.fullmatch(key):
            raise ValueError(
                f"{shown(key)} is not a device plugin's resource; write it as kubectl describe node shows it, such as rdma/ib"
            )
    return value


def _environment(value: dict[str, str]) -> dict[str, str]:
    for key, text in value.items():
        if not _ENV_NAME.fullmatch(key):
            raise ValueError(f"{shown(key)} is not the name of an environment variable; use letters, digits and _")
        if not _ENV_VALUE.fullmatch(text):
            raise ValueError(f"the value of {key} cannot stand in an environment; take the NUL or half character out")
    return value


def _taint_keys(value: list[str]) -> list[str]:
    for key in value:
        if not LABEL_KEY.fullmatch(key):
            raise ValueError(
                f"{shown(key)} is no key of a taint; write it as kubectl describe node shows it, without its value"
            )
    return value


Image = Annotated[str, matching(_IMAGE, "an image reference", "registry.example/team/image:1.2")]
Hca = Annotated[str, matching(_HCA, "a host channel adapter", "mlx5_0, or mlx5 for all that begin so")]
Interface = Annotated[str, matching(_INTERFACE, "a network interface", "eth0")]
GroupName = Annotated[str, name_part(NAME_LETTERS)]
Accelerators = Annotated[str, AfterValidator(_accelerators)]
Selector = Annotated[dict[str, str], AfterValidator(_selector)]
TaintKeys = Annotated[list[str], AfterValidator(_taint_keys)]
DeviceCount = Annotated[WholeNumber, Field(ge=1, le=4096)]


class FabricProfile(Wish):
    """What a pod needs for the fabric, said explicitly where no named fabric fits."""

    resources: Annotated[dict[str, DeviceCount], AfterValidator(_resources)] = Field(default_factory=dict)
    """Device-plugin resources per pod, such as ``{rdma/ib: 8}``; counts from 1."""
    hcas: list[Hca] = Field(default_factory=list)
    """Host channel adapters for ``NCCL_IB_HCA``, names or prefixes, such as ``[mlx5_0, mlx5_1]``; empty: no RDMA."""
    interface: Interface = "eth0"
    """The pod's interface for bootstrap and TCP. Default ``eth0``, the first interface of a pod."""
    environment: Annotated[dict[str, str], AfterValidator(_environment)] = Field(default_factory=dict)
    """Environment of the job beyond what the fields above set."""
    image: Image | None = None
    """Image that the ranks of the gate run in. Default: ``validation.rank_image``, else ``validation.image``."""


class MemtestSpec(Wish):
    """A test of the GPUs' memory before every job that uses the pod profile. Absent: none."""

    level: Literal["short", "medium", "long"]
    """``short``: minutes (dcgmi diag -r 2). ``medium``: up to half an hour (3). ``long``: one to two hours (4)."""
    image: Image
    """Image with dcgmi, pinned; with nv-hostengine where no DCGM engine answers in the pod."""


class PreflightSpec(Wish):
    """A look at the node before every job, instead of the label that says it was validated."""

    image: Image | None = None
    """Image with a shell and nvidia-smi, pinned. Default: the rank image of the machine's fabric; without one required."""


class LocalDiskSpec(Wish):
    """Where the nodes of a group have room on disks of their own: nothing about it can be asked of a cluster."""

    path: NodePath
    """Folder on every node, such as ``/mnt/nvme``: caches are made below it; ``scratch`` in it is for pods, and exists."""
    size_gib: Annotated[WholeNumber, Field(ge=1, le=1_000_000)]
    """What it holds on each node, 1 to 1,000,000 GiB; caches together take three quarters of it."""


class NodeGroupSpec(Wish):
    """A group of equal nodes of a cluster of one's own."""

    name: GroupName
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    node_selector: Selector
    """Labels that exactly this group's nodes have."""
    accelerators: Accelerators
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``; or ``cpu``."""
    nodes: Annotated[WholeNumber, Field(ge=1, le=5000)]
    """Number of nodes, exactly. 1 to 5,000 (the size Kubernetes is tested to)."""
    network_tier: Literal["best", "standard"] = "best"
    """``best``: GPUDirect or RDMA at the machine's full rate, or an error. ``standard``: Ethernet, asked for by name."""
    fabric: str | None = None
    """A named fabric of the table. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    machine_type: str | None = None
    """A cloud's machine of the table, whose fabric it is. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    profile: FabricProfile | None = None
    """The fabric said explicitly. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    scheduler: GroupSchedulerSpec | None = None
    """The queue in front of this group. Default: the stack's ``scheduler``, if any."""
    memtest: MemtestSpec | None = None
    """A test of the GPUs' memory before every job. Default: none."""
    preflight: PreflightSpec | None = None
    """For groups that grow from zero for each job, where no node could be validated before: jobs look at their node themselves
    and do not ask for the label. Default: jobs run on validated nodes alone."""
    fabric_attachment: Literal["networks", "dranet"] | None = None
    """How a pod gets the devices of a GKE machine's fabric: ``networks``, one per rail, or ``dranet``, a resource claim.
    Default: networks."""
    tolerates: TaintKeys | None = None
    """Keys of taints (NoSchedule) that jobs and ranks tolerate beside that of GPUs. Default: none."""
    local_disk: LocalDiskSpec | None = None
    """A folder of the nodes' own disks, for caches and scratch of ``storage``. Default: none that pods may use."""


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def unique_names(groups: list[N]) -> list[N]:
    """At least one group, and no name twice."""
    if not groups:
        raise ValueError("no node group; write at least one")
    names = [group.name for group in groups]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two groups are named {', '.join(twice)}; give every group a name of its own")
    return groups
