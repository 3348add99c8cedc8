"""Wishes about one group of equal nodes."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import DNS_LABEL, Wish

# The longest name made from a group's is `<group>-ranks-<index>.<group>-ranks`; 20 letters leave room in every limit.
NAME_LETTERS = 20
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ACCELERATORS = re.compile(r"cpu|[A-Za-z0-9-]+:[1-9][0-9]?")
_INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
_IMAGE = re.compile(r"[a-z0-9][a-zA-Z0-9._/:@-]*")


def _name(value: str) -> str:
    if not DNS_LABEL.fullmatch(value) or len(value) > NAME_LETTERS:
        raise ValueError(
            f"{value!r} cannot be part of Kubernetes names; "
            f"write 1 to {NAME_LETTERS} of a-z, 0-9 and -, beginning with a letter and not ending in -"
        )
    return value


def _selector(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise ValueError("empty: it would select every node of the cluster; write the label that only this group's nodes have")
    for key, text in value.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(text):
            raise ValueError(f"{key}={text} is no Kubernetes label; write it as kubectl get nodes --show-labels shows it")
        if key == "gpufabric.dev/validated":
            raise ValueError(
                "gpufabric.dev/validated is the gate's own verdict; select by a label that says which nodes, not how they did"
            )
    return value


def _accelerators(value: str) -> str:
    if not _ACCELERATORS.fullmatch(value):
        raise ValueError(f"{value!r} is not NAME:COUNT; write for example H100:8 (eight per node), or cpu")
    return value


def _environment(value: dict[str, str]) -> dict[str, str]:
    for key in value:
        if not _ENV_NAME.fullmatch(key):
            raise ValueError(f"{key!r} is no name of an environment variable; use letters, digits and _")
    return value


def _matches(pattern: re.Pattern[str], hint: str) -> Any:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} is not valid; write {hint}")
        return value

    return AfterValidator(check)


Image = Annotated[str, _matches(_IMAGE, "an image reference such as registry.example/team/image@sha256:...")]


class FabricProfile(Wish):
    """What a pod needs for the fabric, said explicitly where no named fabric fits."""

    resources: dict[str, Annotated[int, Field(ge=1, le=4096)]] = Field(default_factory=dict)
    """Device-plugin resources per pod, such as ``{rdma/ib: 8}``; counts from 1."""
    hcas: list[str] = Field(default_factory=list)
    """Host channel adapters for ``NCCL_IB_HCA``, names or prefixes, such as ``[mlx5_0, mlx5_1]``; empty: no RDMA."""
    interface: Annotated[str, _matches(_INTERFACE, "a network interface such as eth0")] = "eth0"
    """The pod's interface for bootstrap and TCP. Default ``eth0``, the first interface of a pod."""
    environment: Annotated[dict[str, str], AfterValidator(_environment)] = Field(default_factory=dict)
    """Environment of the job beyond what the fields above set."""
    image: Image | None = None
    """Image that the ranks of the gate run in. Default: ``validation.image``."""


class NodeGroupSpec(Wish):
    """A group of equal nodes of a cluster of one's own."""

    name: Annotated[str, AfterValidator(_name)]
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    node_selector: Annotated[dict[str, str], AfterValidator(_selector)]
    """Labels that exactly this group's nodes have."""
    accelerators: Annotated[str, AfterValidator(_accelerators)]
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``; or ``cpu``."""
    nodes: Annotated[int, Field(ge=1, le=5000)]
    """Number of nodes, exactly. 1 to 5,000 (the size Kubernetes is tested to)."""
    network_tier: Literal["best", "standard"] = "best"
    """``best``: GPUDirect or RDMA at the machine's full rate, or an error. ``standard``: Ethernet, asked for by name."""
    fabric: str | None = None
    """A named fabric of the table. Exactly one of ``fabric`` and ``profile``."""
    profile: FabricProfile | None = None
    """The fabric said explicitly. Exactly one of ``fabric`` and ``profile``."""
