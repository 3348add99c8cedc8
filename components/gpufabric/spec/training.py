"""The whole wish: what stands under ``gpufabric:stack`` in a ``Pulumi.<stack>.yaml``."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.node_group import NodeGroupSpec
from gpufabric.spec.validation import ValidationSpec


class ExistingCluster(Wish):
    """How to reach a cluster that exists."""

    kubeconfig: str | None = None
    """Path of the kubeconfig file. Default: ``$KUBECONFIG``, then ``~/.kube/config``. Never its contents: they are secret."""
    context: str | None = None
    """Context of that file. Default: its current one."""


class ClusterSpec(Wish):
    """Which cluster the groups live in."""

    existing: ExistingCluster = ExistingCluster()


def _unique(groups: list[NodeGroupSpec]) -> list[NodeGroupSpec]:
    if not groups:
        raise ValueError("no node group; write at least one")
    names = [group.name for group in groups]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the name {twice[0]!r} is used twice; names are identity, give every group its own")
    return groups


class TrainingSpec(Wish):
    """A training cluster on ``cloud: kubernetes``: a cluster of one's own, wherever it stands."""

    cloud: Literal["kubernetes"]
    orchestrator: Literal["kubernetes"] = "kubernetes"
    cluster: ClusterSpec = ClusterSpec()
    node_groups: Annotated[list[NodeGroupSpec], AfterValidator(_unique)]
    validation: ValidationSpec = Field(default_factory=ValidationSpec)
