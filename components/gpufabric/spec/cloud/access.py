"""Who may reach the Kubernetes API. There is no default: an open endpoint and an unreachable one both cost dear."""

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.cloud.blocks import PRIVATE_BLOCKS, SPECIAL_BLOCKS
from gpufabric.spec.problems import shown

_MOST = 40  # EKS takes no more (EKS quotas, public endpoint access CIDR ranges)
_WIDEST = 8  # no owner has more of the internet than that


def _source(value: str) -> str:
    try:
        block = IPv4Network(value)
    except ValueError as error:
        raise ValueError(f"{shown(value)} is no IPv4 network ({error}); write for example 203.0.113.0/24") from None
    if block.prefixlen < _WIDEST:
        raise ValueError(f"{value} opens the API to the internet; write the networks you call from, such as 203.0.113.7/32")
    if any(block.overlaps(private) for private in PRIVATE_BLOCKS):
        raise ValueError(f"{value} is private and never arrives at a public endpoint; write public addresses, or kind: private")
    if any(block.overlaps(special) for special in SPECIAL_BLOCKS):
        raise ValueError(f"{value} is no address that anybody calls from; write your public one, such as 203.0.113.7/32")
    return value


def _few(value: list[str]) -> list[str]:
    if len(value) > _MOST:
        raise ValueError(f"{len(value)} networks; write at most {_MOST}: wider ones, or those that really call")
    return value


Source = Annotated[str, AfterValidator(_source)]


class ApiAccess(Wish):
    """How the cluster's API endpoint is reached."""

    kind: Literal["public", "private", "dns"]
    """``public``: from ``cidrs`` and from inside. ``private``: from inside the network alone, where ``pulumi up`` then runs.
    ``dns``: by a cloud's DNS endpoint (GKE)."""
    cidrs: Annotated[list[Source], AfterValidator(_few)] = Field(default_factory=list)
    """Public IPv4 networks that may reach a public endpoint, /8 or narrower, at most 40. Required with ``public``."""
