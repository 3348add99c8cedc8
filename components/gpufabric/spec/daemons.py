"""Wishes about device plugins."""

from typing import Annotated

from pydantic import AfterValidator, Field

from gpufabric.spec.base import DNS_LABEL, Wish, matching
from gpufabric.spec.node_group import Image


def _unique(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("no device plugin; write at least one, or leave the component out")
    if len(set(value)) != len(value):
        raise ValueError("a device plugin is listed twice; write each once")
    return value


class FabricDaemonsSpec(Wish):
    """Which device plugins a cluster runs."""

    daemons: Annotated[list[str], AfterValidator(_unique)]
    """Names of device plugins and installers of the table."""
    images: dict[str, Image] = Field(default_factory=dict)
    """Another image by name, of an installer for what it installs: a mirror of the table's. Default: the table's images."""
    namespace: Annotated[str, matching(DNS_LABEL, "a namespace", "kube-system")] = "kube-system"
    """Namespace that exists. Default ``kube-system``, where pods may call themselves critical for their node."""
