"""Who may reach the Kubernetes API. There is no default: an open endpoint and an unreachable one both cost dear."""

import ipaddress
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.problems import shown


def _cidrs(value: list[str]) -> list[str]:
    for each in value:
        try:
            ipaddress.ip_network(each)
        except ValueError as error:
            raise ValueError(f"{shown(each)} is no network ({error}); write for example 203.0.113.0/24") from None
    return value


class ApiAccess(Wish):
    """How the cluster's API endpoint is reached."""

    kind: Literal["public", "private", "dns"]
    """``public``: from ``cidrs``. ``private``: from inside the network alone. ``dns``: by a cloud's DNS endpoint (GKE)."""
    cidrs: Annotated[list[str], AfterValidator(_cidrs)] = Field(default_factory=list)
    """Networks that may reach a public endpoint, such as ``[203.0.113.0/24]``. Required with ``public``."""
