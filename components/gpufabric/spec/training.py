"""The whole wish: what stands under ``gpufabric:stack`` in a ``Pulumi.<stack>.yaml``."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import Wish
from gpufabric.spec.cloud.roles import StorageSpec
from gpufabric.spec.cloud.storage import Name, StoreKey
from gpufabric.spec.local_nvme import GroupNvmeSpec
from gpufabric.spec.node_group import NodeGroupSpec, unique_names
from gpufabric.spec.own_storage import OwnFilesystemSpec, OwnStoreSpec
from gpufabric.spec.scheduler import SchedulerSpec
from gpufabric.spec.validation import ValidationSpec


def _one_line(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError("empty, or more than a line; write a path or a name, never the contents of a kubeconfig")
    return value


Line = Annotated[str, AfterValidator(_one_line)]


class ExistingCluster(Wish):
    """How to reach a cluster that exists."""

    kubeconfig: Line | None = None
    """Path of the kubeconfig file. Default: ``$KUBECONFIG``, then ``~/.kube/config``. Never its contents: they are secret."""
    context: Line | None = None
    """Context of that file. Default: its current one."""


class ClusterSpec(Wish):
    """Which cluster the groups live in."""

    existing: ExistingCluster = ExistingCluster()


class GroupsSpec(Wish):
    """Node groups and their gate: what a stack asks for, wherever its cluster stands."""

    node_groups: Annotated[list[NodeGroupSpec], AfterValidator(unique_names)]
    """The groups, at least one; names are unique, no node matches two of them."""
    validation: ValidationSpec = Field(default_factory=ValidationSpec)
    """The gate of every group."""
    scheduler: SchedulerSpec | None = None
    """The queue in front of every group that has no ``scheduler`` of its own; the verdict opens it. Default: none."""
    stores: dict[StoreKey, OwnStoreSpec] = Field(default_factory=dict)
    """Buckets that exist, by name. Default: none."""
    filesystems: dict[Name, OwnFilesystemSpec] = Field(default_factory=dict)
    """Shared file systems that exist, by the name of their claim in the namespace of the jobs. Default: none."""
    storage: StorageSpec | None = None
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    local_nvme: dict[str, GroupNvmeSpec] = Field(default_factory=dict)
    """Groups whose nodes' local NVMe becomes one file system, by the group's name: its disks are formatted. Default: none."""


class TrainingSpec(GroupsSpec):
    """A training cluster on ``cloud: kubernetes``: a cluster of one's own, wherever it stands."""

    cloud: Literal["kubernetes"]
    orchestrator: Literal["kubernetes"] = "kubernetes"
    cluster: ClusterSpec = ClusterSpec()
