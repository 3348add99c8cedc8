"""The args of the components: the same keys as the spec, each documented."""

import ast
import inspect
import sys
from collections.abc import Awaitable
from collections.abc import Set as AbstractSet
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import pytest
from pulumi import Output
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpufabric import spec
from gpufabric.aws.eks_cluster import EksClusterArgs, ExistingEksArgs, SystemNodesArgs
from gpufabric.aws.fsx_lustre import FsxLustreArgs
from gpufabric.aws.mountpoint_driver import MountpointDriverArgs
from gpufabric.aws.network import AwsNetworkArgs, ExistingNetworkArgs
from gpufabric.aws.node_group import AwsCapacityArgs, EksGpuNodeGroupArgs, EksNodeGroupArgs
from gpufabric.aws.s3_bucket import S3BucketArgs
from gpufabric.aws.stack import (
    AwsTrainingStackArgs,
    StackClusterArgs,
    StackFilesystemArgs,
    StackNetworkArgs,
    StackStoreArgs,
)
from gpufabric.gcp.filestore import FilestoreArgs
from gpufabric.gcp.gcs_bucket import GcsBucketArgs
from gpufabric.gcp.gke_cluster import ExistingGkeArgs, GkeClusterArgs, GkeSystemNodesArgs
from gpufabric.gcp.managed_lustre import ManagedLustreArgs
from gpufabric.gcp.network import ExistingGcpNetworkArgs, GcpNetworkArgs
from gpufabric.gcp.node_pool import GcpCapacityArgs, GkeGpuNodePoolArgs, GkeNodePoolArgs
from gpufabric.gcp.stack import (
    GcpStackClusterArgs,
    GcpStackFilesystemArgs,
    GcpStackNetworkArgs,
    GcpStackStoreArgs,
    GcpTrainingStackArgs,
)
from gpufabric.hosted import ROOMS
from gpufabric.kubernetes.args import (
    ApiAccessArgs,
    FabricGateArgs,
    FabricProfileArgs,
    GroupNvmeArgs,
    GroupSchedulerArgs,
    JobQueueArgs,
    KubernetesTrainingStackArgs,
    LocalDiskArgs,
    MemtestArgs,
    NcclValidationArgs,
    NodeGroupArgs,
    NodeHealthCheckArgs,
    NodeNetworkArgs,
    PreflightArgs,
    ProvisioningArgs,
    SchedulerArgs,
    ServiceAccountArgs,
    ValidationArgs,
)
from gpufabric.kubernetes.bucket_mount import BucketMountArgs
from gpufabric.kubernetes.cached_mount import CachedMountArgs
from gpufabric.kubernetes.fabric_daemons import FabricDaemonsArgs
from gpufabric.kubernetes.fabric_networks import FabricNetworksArgs
from gpufabric.kubernetes.local_nvme import LocalNvmeArgs
from gpufabric.kubernetes.mounted import MountArgs
from gpufabric.kubernetes.shared_filesystem import SharedFilesystemArgs
from gpufabric.kubernetes.storage_args import (
    BucketAccessArgs,
    BucketArgs,
    CheckpointRoleArgs,
    CsiVolumeArgs,
    NfsArgs,
    OwnFilesystemArgs,
    OwnStoreArgs,
    RoleArgs,
    StorageArgs,
)
from gpufabric.spec import scheduler
from gpufabric.spec.aws import capacity, cluster, network, node_group, storage, training
from gpufabric.spec.cloud import ApiAccess, roles
from gpufabric.spec.cloud.storage import ServiceAccountRef
from gpufabric.spec.daemons import FabricDaemonsSpec
from gpufabric.spec.gcp import capacity as gcp_capacity
from gpufabric.spec.gcp import cluster as gcp_cluster
from gpufabric.spec.gcp import network as gcp_network
from gpufabric.spec.gcp import node_pool
from gpufabric.spec.gcp import storage as gcp_storage
from gpufabric.spec.gcp import training as gcp_training
from gpufabric.spec.local_nvme import GroupNvmeSpec, LocalNvmeSpec
from gpufabric.spec.mounts import BucketAccess, BucketMountSpec, BucketSpec, CachedMountSpec, MountSpec
from gpufabric.spec.networks import FabricNetworksSpec
from gpufabric.spec.own_storage import OwnFilesystemSpec, OwnStoreSpec
from gpufabric.spec.shared_filesystem import CsiVolumeSpec, NfsSpec, SharedFilesystemSpec

MODELS: dict[Any, type[BaseModel]] = {
    FabricProfileArgs: spec.FabricProfile,
    NodeGroupArgs: spec.NodeGroupSpec,
    MemtestArgs: spec.MemtestSpec,
    LocalDiskArgs: spec.LocalDiskSpec,
    OwnStoreArgs: OwnStoreSpec,
    OwnFilesystemArgs: OwnFilesystemSpec,
    NfsArgs: NfsSpec,
    CsiVolumeArgs: CsiVolumeSpec,
    SharedFilesystemArgs: SharedFilesystemSpec,
    BucketAccessArgs: BucketAccess,
    SchedulerArgs: spec.SchedulerSpec,
    GroupSchedulerArgs: scheduler.GroupSchedulerSpec,
    ProvisioningArgs: scheduler.ProvisioningSpec,
    ValidationArgs: spec.ValidationSpec,
    NcclValidationArgs: spec.GateSpec,
    FabricGateArgs: spec.GateSpec,
    NodeHealthCheckArgs: spec.HealthCheckSpec,
    JobQueueArgs: spec.QueueSpec,
    KubernetesTrainingStackArgs: spec.GroupsSpec,
    FabricDaemonsArgs: FabricDaemonsSpec,
    FabricNetworksArgs: FabricNetworksSpec,
    NodeNetworkArgs: gcp_network.NodeNetwork,
    PreflightArgs: spec.PreflightSpec,
    GroupNvmeArgs: GroupNvmeSpec,
    LocalNvmeArgs: LocalNvmeSpec,
    BucketArgs: BucketSpec,
    MountArgs: MountSpec,
    CachedMountArgs: CachedMountSpec,
    BucketMountArgs: BucketMountSpec,
    ApiAccessArgs: ApiAccess,
    AwsCapacityArgs: capacity.AwsCapacitySpec,
    AwsNetworkArgs: network.AwsNetworkWish,
    AwsTrainingStackArgs: training.AwsStackSpec,
    EksClusterArgs: cluster.EksClusterWish,
    EksGpuNodeGroupArgs: node_group.EksGpuNodesSpec,
    EksNodeGroupArgs: node_group.EksNodeGroupSpec,
    ExistingEksArgs: cluster.ExistingEks,
    ExistingNetworkArgs: network.ExistingNetwork,
    FsxLustreArgs: storage.FsxLustreWish,
    MountpointDriverArgs: storage.MountpointDriverWish,
    S3BucketArgs: storage.S3BucketWish,
    ServiceAccountArgs: ServiceAccountRef,
    RoleArgs: roles.RoleSpec,
    CheckpointRoleArgs: roles.CheckpointRoleSpec,
    StorageArgs: roles.StorageSpec,
    StackClusterArgs: cluster.EksClusterSpec,
    StackFilesystemArgs: storage.AwsFilesystemSpec,
    StackNetworkArgs: network.AwsNetworkSpec,
    StackStoreArgs: storage.AwsStoreSpec,
    SystemNodesArgs: cluster.SystemNodes,
    ExistingGcpNetworkArgs: gcp_network.ExistingGcpNetwork,
    ExistingGkeArgs: gcp_cluster.ExistingGke,
    FilestoreArgs: gcp_storage.FilestoreWish,
    GcpCapacityArgs: gcp_capacity.GcpCapacitySpec,
    GcpNetworkArgs: gcp_network.GcpNetworkWish,
    GcpStackClusterArgs: gcp_cluster.GkeClusterSpec,
    GcpStackFilesystemArgs: gcp_storage.GcpFilesystemSpec,
    GcpStackNetworkArgs: gcp_network.GcpNetworkSpec,
    GcpStackStoreArgs: gcp_storage.GcpStoreSpec,
    GcpTrainingStackArgs: gcp_training.GcpStackSpec,
    GcsBucketArgs: gcp_storage.GcsBucketWish,
    GkeClusterArgs: gcp_cluster.GkeClusterWish,
    GkeGpuNodePoolArgs: node_pool.GkeGpuNodesSpec,
    GkeNodePoolArgs: node_pool.GkeNodePoolSpec,
    GkeSystemNodesArgs: gcp_cluster.GkeSystemNodes,
    ManagedLustreArgs: gcp_storage.ManagedLustreWish,
}
# Keys that are ids of what another component or resource made.
HANDLES: dict[Any, AbstractSet[str]] = {
    EksClusterArgs: {"subnet_ids", "system_subnet_ids"},
    EksGpuNodeGroupArgs: {"cluster_name", "cluster_security_group_id", "efa_security_group_id", "subnet_id"},
    FabricNetworksArgs: {"networks"},
    FsxLustreArgs: {"cluster_name", "vpc_id", "subnet_id", "client_security_group_id"},
    MountpointDriverArgs: {"cluster_name", "bucket_arns"},
    S3BucketArgs: {"cluster_name"},
    FilestoreArgs: {"network"},
    GkeClusterArgs: {"network", "subnetwork", "pods_range", "services_range"},
    GkeGpuNodePoolArgs: {"cluster_name", "location", "additional_networks", "node_service_account"},
    ManagedLustreArgs: {"network"},
}
BASES: dict[Any, tuple[Any, ...]] = {
    GroupSchedulerArgs: (SchedulerArgs,),
    EksGpuNodeGroupArgs: (EksNodeGroupArgs,),
    GkeGpuNodePoolArgs: (GkeNodePoolArgs,),
    CheckpointRoleArgs: (RoleArgs,),
    MountArgs: (BucketAccessArgs,),
    CachedMountArgs: (MountArgs, BucketAccessArgs),
    BucketMountArgs: (MountArgs, BucketAccessArgs),
    OwnStoreArgs: (BucketArgs, BucketAccessArgs),
}
every_args = pytest.mark.parametrize("args", list(MODELS), ids=lambda args: args.__name__)


def hints(args: Any) -> dict[str, Any]:
    """The keys and their types. ``T`` is how Pulumi's Input names what it holds, and does not resolve itself."""
    return get_type_hints(args, localns={"T": Any, "Output": Output}, include_extras=True)


def documented(source: object, name: str) -> dict[str, str]:
    """Each annotated key of a class with the docstring below it; empty where there is none."""
    tree = ast.parse(inspect.getsource(source))  # type: ignore[arg-type]
    (found,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name]
    docs = {}
    for node, after in zip(found.body, [*found.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            docs[node.target.id] = str(text)
    return docs


def plain(annotation: Any) -> Any:
    """What a hosted argument can hold: models as their args, bounds, choices and None away."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is NotRequired:
        return plain(inner[0])
    if origin is Literal:
        return str
    if origin in (Union, UnionType):
        away = (Awaitable, Output)  # of an Input, what is left is the type of the id
        (one,) = [each for each in inner if each is not NoneType and get_origin(each) not in away]
        return plain(one)
    if origin in (list, dict):
        return origin[tuple(plain(each) for each in inner)]
    return next((args for args, model in MODELS.items() if model is annotation), annotation)


def test_every_args_class_has_its_model() -> None:
    rooms = [import_module(f"gpufabric.{room}") for room in ROOMS]
    modules = [import_module(f"{room.__name__}.{each.name}") for room in rooms for each in iter_modules(room.__path__)]
    found = {each for module in modules for name, each in vars(module).items() if name.endswith("Args")}
    assert found == set(MODELS)


@every_args
def test_the_keys_are_those_of_the_spec(args: Any) -> None:
    assert set(hints(args)) - HANDLES.get(args, set()) == set(MODELS[args].model_fields)


@every_args
def test_the_types_are_those_of_the_spec(args: Any) -> None:
    expected = get_type_hints(MODELS[args])
    for key, annotation in hints(args).items():
        if key not in HANDLES.get(args, ()):
            assert plain(annotation) == plain(expected[key]), key


@every_args
def test_what_is_required_is_required_in_both(args: Any) -> None:
    required = {key for key, each in MODELS[args].model_fields.items() if each.is_required()}
    assert args.__required_keys__ - HANDLES.get(args, set()) == required


@every_args
def test_every_key_is_documented_in_args_and_spec(args: Any) -> None:
    own = documented_args(args)
    assert own.keys() == set(hints(args))
    model = MODELS[args]
    of_spec = documented(inspect.getmodule(model), model.__name__)
    inherited = {key for base in model.__mro__[1:] for key in getattr(base, "__annotations__", {})}
    assert of_spec.keys() >= set(model.model_fields) - inherited
    for docs in (own, of_spec):
        for key, text in docs.items():
            assert len(text) > 10, f"{args.__name__}.{key} says nothing"
            assert text.strip().endswith((".", ")")), f"{args.__name__}.{key} ends without a full stop"


@every_args
def test_every_optional_key_says_its_default(args: Any) -> None:
    docs = documented_args(args)
    for key in args.__optional_keys__:
        text = docs[key].lower()
        assert "default" in text or "exactly one of" in text or "required" in text, f"{args.__name__}.{key}: {docs[key]}"


@every_args
def test_every_bound_of_the_spec_is_in_the_docs(args: Any) -> None:
    """Numbers that are refused are said before: ``from 1 to 4,096`` where the model has ge=1, le=4096."""
    docs = documented_args(args)
    for key, each in MODELS[args].model_fields.items():
        for bound in bounds(each):
            for limit in ("ge", "gt", "le", "lt"):
                value = getattr(bound, limit, None)
                if value is not None:
                    assert f"{value:,.10g}" in docs[key], f"{key}: {limit} {value} is not in {docs[key]!r}"


def documented_args(args: Any) -> dict[str, str]:
    """The docs of all keys: those of a base class stand there."""
    return {
        key: text
        for each in (*BASES.get(args, ()), args)
        for key, text in documented(sys.modules[each.__module__], each.__name__).items()
    }


def bounds(field: FieldInfo) -> list[Any]:
    """The constraints of a field, also below an optional or in a container."""
    inside = [meta for each in get_args(field.annotation) for meta in getattr(each, "__metadata__", ())]
    return [*field.metadata, *(bound for meta in inside if isinstance(meta, FieldInfo) for bound in meta.metadata)]


def test_bounds_are_found_where_they_hide() -> None:
    def of(key: str, model: type[BaseModel]) -> set[str]:
        return {type(each).__name__ for each in bounds(model.model_fields[key])}

    assert {"Gt", "Le"} <= of("floor_gbytes_per_s", spec.ValidationSpec)
    assert {"Ge", "Le"} <= of("resources", spec.FabricProfile)
    assert {"Ge", "Le"} <= of("nodes", spec.NodeGroupSpec)
