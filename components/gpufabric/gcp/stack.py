"""A whole training cluster on Google Cloud: networks, GKE cluster, GPU node pools, daemons, storage, and a gate per group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from pulumi import ComponentResource, Output, Resource, ResourceOptions, get_stack
from pulumi_kubernetes import Provider

from gpufabric.gcp.gke_cluster import ExistingGkeArgs, GkeCluster, GkeSystemNodesArgs
from gpufabric.gcp.network import ExistingGcpNetworkArgs, GcpNetwork
from gpufabric.gcp.node_pool import GkeGpuNodePool, GkeNodePoolArgs
from gpufabric.kubernetes import clock
from gpufabric.kubernetes.args import ApiAccessArgs, SchedulerArgs, ValidationArgs
from gpufabric.kubernetes.cloud_stack import accounts_of, declare_inside
from gpufabric.kubernetes.storage_args import StorageArgs
from gpufabric.plan.gcp import resolve_gcp
from gpufabric.plan.gcp.model import NETWORKS
from gpufabric.plan.gcp.parts import bucket_args, cluster_args, filesystem_args, network_args
from gpufabric.spec import SpecError
from gpufabric.spec.gcp import GcpStackSpec, GcpTrainingSpec

if TYPE_CHECKING:
    from gpufabric.gcp.filestore import Filestore
    from gpufabric.gcp.gcs_bucket import GcsBucket
    from gpufabric.gcp.managed_lustre import ManagedLustre


class GcpStackNetworkArgs(TypedDict):
    """The networks of the stack: VPCs of its own, or one that exists."""

    cidr: NotRequired[str]
    """Private block out of which all subnets are cut, /11 to /16. Default: ``10.0.0.0/14``."""
    mtu: NotRequired[int]
    """MTU of the nodes' own VPC, 1,300 to 8,896 bytes. Default: Google's for the machines. Not that of GPU networks."""
    existing: NotRequired[ExistingGcpNetworkArgs]
    """A VPC that exists, instead of ``mtu``. Default: one is made."""


class GcpStackClusterArgs(TypedDict):
    """The cluster of the stack: one of its own, or one that exists."""

    kubernetes_version: NotRequired[str]
    """Version of GKE, such as ``1.35`` or ``1.35.1-gke.1396000``. Default: the table's."""
    release_channel: NotRequired[str]
    """``rapid``, ``regular`` (default), ``stable`` or ``extended``. Minor versions and nodes never change by themselves."""
    admin_principals: NotRequired[list[str]]
    """IAM members that administer this cluster, beside who may already. Default: none."""
    system_nodes: NotRequired[GkeSystemNodesArgs]
    """The CPU nodes. Default: two ``e2-standard-4``."""
    deletion_protection: NotRequired[bool]
    """Refuse to delete the cluster until this is taken back. Default: false."""
    existing: NotRequired[ExistingGkeArgs]
    """A cluster that exists, instead of all the keys above but the version. Default: one is made."""


class GcpStackStoreArgs(TypedDict):
    """One bucket."""

    name: str
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``, ``_``."""
    existing: NotRequired[bool]
    """Use the bucket as it is and change nothing of it but who may reach it. Default: false, it is made."""
    hierarchical_namespace: NotRequired[bool]
    """Real folders that are renamed at once, as checkpoints are. Only when it is made. Default: true."""
    protect: NotRequired[bool]
    """Keep the bucket when it leaves the program or the stack is destroyed. Default: true."""


class GcpStackFilesystemArgs(TypedDict):
    """One shared file system."""

    kind: NotRequired[str]
    """``lustre`` (default): Managed Lustre, in the zone. ``filestore``: NFS."""
    size_gib: NotRequired[int]
    """Capacity, 1 to 100,000,000 GiB on Google's grid (an error offers the nearest two). Required, unless one exists."""
    throughput_mbytes_per_s_per_tib: NotRequired[int]
    """Of Lustre: throughput per TiB, 1 to 1,000 MB/s: 125, 250, 500 or 1,000. It cannot be changed later. Default: 250."""
    tier: NotRequired[str]
    """Of Filestore: ``zonal``, ``regional`` or ``basic_ssd``. Default: ``zonal``."""
    existing: NotRequired[str]
    """Name of an instance that the nodes can reach, instead of size and throughput. Default: one is made."""
    protect: NotRequired[bool]
    """Refuse to delete the file system. Default: true."""


class GcpTrainingStackArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.GcpTrainingStack`."""

    project: str
    """Id of the project, such as ``acme-training``."""
    region: str
    """Region, such as ``us-central1``."""
    zone: str
    """Zone of the GPU nodes, such as ``us-central1-a``: a network of RDMA belongs to one."""
    api_access: NotRequired[ApiAccessArgs]
    """Who may reach the Kubernetes API. Required, unless the cluster exists: there is no default."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is created, at most 54. Default: none."""
    network: NotRequired[GcpStackNetworkArgs]
    """The networks. Default: VPCs of its own."""
    cluster: NotRequired[GcpStackClusterArgs]
    """The cluster. Default: one of its own."""
    node_groups: list[GkeNodePoolArgs]
    """The groups, at least one; names are unique."""
    stores: NotRequired[dict[str, GcpStackStoreArgs]]
    """Buckets by name. Default: none."""
    filesystems: NotRequired[dict[str, GcpStackFilesystemArgs]]
    """Shared file systems by the name of their claim. Default: none."""
    storage: NotRequired[StorageArgs]
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    scheduler: NotRequired[SchedulerArgs]
    """The queue in front of every group. Nodes of ``kind: queued`` come when the turn of a job comes. Default: none."""
    validation: NotRequired[ValidationArgs]
    """The gate of every group. Default: none of its keys; but ``image`` is required."""


class GcpTrainingStack(ComponentResource):
    """A training cluster on GKE, closed to jobs until each group passed its gate.

    ``profiles[group].apply_to(job_spec)`` gives a job the fabric of its group, and the files of every role of ``storage``.

    The components' name is the name of the cluster. What is in the cluster goes with it when it is destroyed.

    Raises:
        SpecError: every problem of the args, before anything is registered.
    """

    kubeconfig: Output[str]
    """Secret: a kubeconfig, as JSON, that asks Google's plug-in for a token whenever it is used."""
    pod_profiles: Output[Mapping[str, Any]]
    """Pod profile of each group, by the group's name."""
    validation: Output[Mapping[str, Any]]
    """Verdict of each group's gate, by the group's name."""
    cost: Output[Mapping[str, Any]]
    """``usd_per_hour`` of the machines (absent where a price is not known) and ``parts``, a line for each."""

    def __init__(self, name: str, args: GcpTrainingStackArgs, opts: ResourceOptions | None = None) -> None:
        GcpStackSpec.parse(args, name)
        try:
            spec = GcpTrainingSpec.parse({"cloud": "gcp", **args})
            plan = resolve_gcp(spec, get_stack(), now=clock.now(), name=name)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:GcpTrainingStack", name, {}, opts)
        self._name, self._args, self._spec, self._plan = name, args, spec, plan
        self.network = self._network()
        self.cluster = self._cluster()
        self.node_groups = {group.name: self._node_pool(position) for position, group in enumerate(plan.node_groups)}
        self.stores = {key: self._store(key) for key in spec.stores}
        self.inside = Provider(f"{name}-kubernetes", kubeconfig=self.cluster.kubeconfig, opts=ResourceOptions(parent=self))
        self.filesystems = {key: self._filesystem(key) for key in spec.filesystems}
        rest = declare_inside(
            self,
            name,
            plan,
            args.get("validation", {}),
            cluster=self.cluster,
            existing=spec.cluster.existing is not None,
            provider=self.inside,
            groups=self.node_groups,
            stores=self.stores,
            fabric=self._fabric,
        )
        self.gates, self.mounts, self.profiles = rest.gates, rest.mounts, rest.profiles
        self.kubeconfig, self.cost = self.cluster.kubeconfig, rest.cost
        self.pod_profiles, self.validation = rest.pod_profiles, rest.validation
        self.register_outputs(dict(rest.outputs))

    def _network(self) -> GcpNetwork:
        args: Any = network_args(self._spec, self._plan.node_groups)
        return GcpNetwork(f"{self._name}-network", args, ResourceOptions(parent=self))

    def _cluster(self) -> GkeCluster:
        """The cluster; an existing one is only looked at, and gets no network."""
        args: Any = cluster_args(self._spec)
        if not self._spec.cluster.existing:
            args["network"] = self.network.network_name
            args["subnetwork"] = self.network.subnetwork_name
            args["pods_range"] = self.network.pods_range
            args["services_range"] = self.network.services_range
        return GkeCluster(self._name, args, ResourceOptions(parent=self))

    def _node_pool(self, position: int) -> GkeGpuNodePool:
        """After the whole cluster: its system nodes run what makes a node useful, such as DNS."""
        plan, wish = self._plan.node_groups[position], self._args["node_groups"][position]
        args: Any = {
            **wish,
            "project": self._plan.project,
            "zone": self._plan.zone,
            "cluster_name": self.cluster.cluster_name,
            "location": self.cluster.location,
            "kubernetes_version": self._plan.version,
            "tags": dict(self._plan.tags),
        }
        if not self._spec.cluster.existing:
            args["node_service_account"] = self.cluster.node_service_account
        if plan.attachment == NETWORKS:
            args["additional_networks"] = self.network.cards[plan.machine.name]
        return GkeGpuNodePool(f"{self._name}-{plan.name}", args, ResourceOptions(parent=self, depends_on=[self.cluster]))

    def _store(self, key: str) -> "GcsBucket":
        from gpufabric.gcp.gcs_bucket import GcsBucket  # its SDK module only for those who have buckets

        args: Any = {**bucket_args(self._spec, key), **accounts_of(self._plan, key)}
        return GcsBucket(f"{self._name}-{key}", args, ResourceOptions(parent=self))

    def _filesystem(self, key: str) -> "Filestore | ManagedLustre":
        """In the zone of the GPU nodes. It is Google's and outlives the cluster."""
        wish, args = self._spec.filesystems[key], self._filesystem_args(key)
        options = ResourceOptions(parent=self, providers=[self.inside], depends_on=[self.cluster])
        if wish.kind == "lustre":  # the SDK module only for those who have such a file system
            from gpufabric.gcp.managed_lustre import ManagedLustre

            return ManagedLustre(f"{self._name}-{key}", args, options)
        from gpufabric.gcp.filestore import Filestore

        return Filestore(f"{self._name}-{key}", args, options)

    def _filesystem_args(self, key: str) -> Any:
        made = {} if self._spec.filesystems[key].existing else {"network": self.network.network_id}
        return {**filesystem_args(self._spec, key), **made}

    def _fabric(self, inside: ResourceOptions) -> list[Resource]:
        """What the fabrics need in the cluster: their networks as its objects, and what installs their NCCL plug-ins."""
        made: list[Resource] = []
        if self._plan.parts.networked:
            from gpufabric.kubernetes.fabric_networks import FabricNetworks  # not for Ethernet alone

            for machine in self._plan.parts.networked:
                networks: Any = {"machine_type": machine, "networks": self.network.cards[machine]}
                made.append(FabricNetworks(f"{self._name}-{machine}", networks, inside))
        if self._plan.parts.daemons:
            from gpufabric.kubernetes.fabric_daemons import FabricDaemons

            made.append(FabricDaemons(f"{self._name}-daemons", {"daemons": list(self._plan.parts.daemons)}, inside))
        return made
