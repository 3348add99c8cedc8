"""A whole training cluster on AWS: network, EKS cluster, GPU node groups, device plugins, storage, and a gate per group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from pulumi import ComponentResource, Output, Resource, ResourceOptions, get_stack
from pulumi_kubernetes import Provider

from gpufabric.aws.eks_cluster import EksCluster, ExistingEksArgs, SystemNodesArgs
from gpufabric.aws.lookup import look_up_groups
from gpufabric.aws.network import AwsNetwork, ExistingNetworkArgs
from gpufabric.aws.node_group import EksGpuNodeGroup, EksNodeGroupArgs
from gpufabric.kubernetes import clock
from gpufabric.kubernetes.args import ApiAccessArgs, ValidationArgs
from gpufabric.kubernetes.cloud_stack import accounts_of, declare_inside
from gpufabric.kubernetes.fabric_daemons import FabricDaemons
from gpufabric.kubernetes.storage_args import StorageArgs
from gpufabric.plan.aws import resolve_aws
from gpufabric.plan.aws.lookup import with_window
from gpufabric.plan.aws.mountpoint import mountpoint_stores
from gpufabric.plan.aws.parts import bucket_args, cluster_args, lustre_args, network_args
from gpufabric.spec import SpecError
from gpufabric.spec.aws import AwsStackSpec, AwsTrainingSpec

if TYPE_CHECKING:
    from gpufabric.aws.fsx_lustre import FsxLustre
    from gpufabric.aws.s3_bucket import S3Bucket


class StackNetworkArgs(TypedDict):
    """The network of the stack: a VPC of its own, or one that exists."""

    cidr: NotRequired[str]
    """Private block of the VPC, /16 to /20. Default: ``10.0.0.0/16``."""
    gpu_cidr: NotRequired[str]
    """A second block of the VPC, for the GPU nodes alone, when half of ``cidr`` is too small. Default: none."""
    zones: NotRequired[list[str]]
    """Two or three zones of the cluster's own interfaces. Default: ``zone``, and the first of a, b, c that is another one."""
    existing: NotRequired[ExistingNetworkArgs]
    """A VPC that exists, instead of all the keys above. Default: one is made."""


class StackClusterArgs(TypedDict):
    """The cluster of the stack: one of its own, or one that exists."""

    kubernetes_version: NotRequired[str]
    """Kubernetes version, such as ``1.35``. Default: the one of the table."""
    admin_principals: NotRequired[list[str]]
    """ARNs of IAM roles and users that become administrators, beside who creates the cluster. Default: none."""
    control_plane_tier: NotRequired[str]
    """``standard``, ``tier-xl``, ``tier-2xl``, ``tier-4xl``, ``tier-8xl``. Default: from the number of nodes."""
    system_nodes: NotRequired[SystemNodesArgs]
    """The CPU nodes. Default: two ``m7i.xlarge``."""
    existing: NotRequired[ExistingEksArgs]
    """A cluster that exists, instead of all the keys above. Default: one is made."""


class StackStoreArgs(TypedDict):
    """One bucket."""

    name: str
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``."""
    existing: NotRequired[bool]
    """Use the bucket as it is, in this region, and change nothing of it. Default: false, it is made."""
    protect: NotRequired[bool]
    """Keep the bucket when it leaves the program or the stack is destroyed. Default: true."""


class StackFilesystemArgs(TypedDict):
    """One Lustre file system, PERSISTENT_2 on SSD."""

    size_gib: NotRequired[int]
    """Capacity, 1 to 10,000,000 GiB on AWS's grid (an error offers the nearest two). Required, unless one exists."""
    throughput_mbytes_per_s_per_tib: NotRequired[int]
    """Throughput per TiB, 1 to 1,000 MB/s: 125, 250, 500 or 1,000. Default: 250."""
    efa: NotRequired[bool]
    """Lustre over EFA: the full rate of EFA nodes. Only when it is made; capacity steps are larger. Default: true."""
    metadata_ops_per_s: NotRequired[int]
    """Metadata operations per second to pay for, 1 to 192,000 on AWS's grid. Default: what AWS derives from the size."""
    existing: NotRequired[str]
    """Id of a file system that exists and that the nodes can reach, instead of the keys above. Default: one is made."""
    protect: NotRequired[bool]
    """Refuse to delete the file system. Default: true."""


class AwsTrainingStackArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.AwsTrainingStack`."""

    region: str
    """Region, such as ``us-east-2``."""
    zone: str
    """Availability zone of the GPU nodes, such as ``us-east-2b``: EFA does not cross zones."""
    api_access: NotRequired[ApiAccessArgs]
    """Who may reach the Kubernetes API. Required, unless the cluster exists: there is no default."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is created. Default: none."""
    network: NotRequired[StackNetworkArgs]
    """The network. Default: a VPC of its own."""
    cluster: NotRequired[StackClusterArgs]
    """The cluster. Default: one of its own."""
    node_groups: list[EksNodeGroupArgs]
    """The groups, at least one; names are unique."""
    stores: NotRequired[dict[str, StackStoreArgs]]
    """Buckets by name. Default: none."""
    filesystems: NotRequired[dict[str, StackFilesystemArgs]]
    """FSx for Lustre file systems by the name of their claim. Default: none."""
    storage: NotRequired[StorageArgs]
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    validation: NotRequired[ValidationArgs]
    """The gate of every group. Default: none of its keys; but ``image`` is required."""


class AwsTrainingStack(ComponentResource):
    """A training cluster on EKS, closed to jobs until each group passed its gate.

    ``profiles[group].apply_to(job_spec)`` gives a job the fabric of its group, and the files of every role of ``storage``.

    The components' name is the name of the cluster. What is in the cluster goes with it when it is destroyed.

    Raises:
        SpecError: every problem of the args, before anything is registered.
    """

    kubeconfig: Output[str]
    """Secret: a kubeconfig, as JSON, that asks the AWS command line for a token whenever it is used."""
    pod_profiles: Output[Mapping[str, Any]]
    """Pod profile of each group, by the group's name."""
    validation: Output[Mapping[str, Any]]
    """Verdict of each group's gate, by the group's name."""
    cost: Output[Mapping[str, Any]]
    """``usd_per_hour`` of the machines (absent where a price is not known) and ``parts``, a line for each."""

    def __init__(self, name: str, args: AwsTrainingStackArgs, opts: ResourceOptions | None = None) -> None:
        AwsStackSpec.parse(args, name)
        try:
            spec = AwsTrainingSpec.parse({"cloud": "aws", **args})
            found = look_up_groups(spec, opts)
            plan = resolve_aws(spec, get_stack(), now=clock.now(), found=found, name=name)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:AwsTrainingStack", name, {}, opts)
        self._name, self._args, self._spec, self._plan, self._found = name, args, spec, plan, found
        self.network = self._network()
        self.cluster = self._cluster()
        self.node_groups = {group.name: self._node_group(position) for position, group in enumerate(plan.node_groups)}
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
            drivers=self._drivers(),
        )
        self.gates, self.mounts, self.profiles = rest.gates, rest.mounts, rest.profiles
        self.kubeconfig, self.cost = self.cluster.kubeconfig, rest.cost
        self.pod_profiles, self.validation = rest.pod_profiles, rest.validation
        self.register_outputs(dict(rest.outputs))

    def _network(self) -> AwsNetwork:
        args: Any = network_args(self._spec)
        return AwsNetwork(f"{self._name}-network", args, ResourceOptions(parent=self))

    def _cluster(self) -> EksCluster:
        """The cluster; an existing one is only looked at, and gets no subnets."""
        args: Any = cluster_args(self._spec, self._plan.node_groups)
        if not self._spec.cluster.existing:
            args["subnet_ids"] = self.network.cluster_subnet_ids
            args["system_subnet_ids"] = self.network.system_subnet_id.apply(lambda subnet: [subnet])
        return EksCluster(self._name, args, ResourceOptions(parent=self))

    def _node_group(self, position: int) -> EksGpuNodeGroup:
        """After the whole cluster: a node without its network add-on is not Ready, and one without DNS runs nothing."""
        plan, wish = self._plan.node_groups[position], self._args["node_groups"][position]
        args: Any = {
            **wish,
            "cluster_name": self.cluster.cluster_name,
            "cluster_security_group_id": self.cluster.security_group_id,
            "efa_security_group_id": self.network.efa_security_group_id,
            "subnet_id": self.network.gpu_subnet_id,
            "zone": self._plan.zone,
            "kubernetes_version": self._plan.version.kubernetes,
            "tags": dict(self._plan.tags),
        }
        if found := self._found.get(position):  # asked for once: the group gets what was found
            window = with_window(self._spec.node_groups[position].capacity, found, "")
            args["capacity"] = window.model_dump(exclude_none=True)
        return EksGpuNodeGroup(f"{self._name}-{plan.name}", args, ResourceOptions(parent=self, depends_on=[self.cluster]))

    def _store(self, key: str) -> "S3Bucket":
        from gpufabric.aws.s3_bucket import S3Bucket  # its SDK modules only for those who have buckets

        args: Any = {**bucket_args(self._spec, key), **accounts_of(self._plan, key), "cluster_name": self.cluster.cluster_name}
        return S3Bucket(f"{self._name}-{key}", args, ResourceOptions(parent=self))

    def _drivers(self) -> list[Resource]:
        """The driver of buckets, where roles need it; that of a cluster which exists is not touched."""
        stores = mountpoint_stores(self._plan.storage)
        if not stores or self._spec.cluster.existing:
            return []
        from gpufabric.aws.mountpoint_driver import MountpointDriver  # likewise

        args: Any = {
            "cluster_name": self.cluster.cluster_name,
            "bucket_arns": Output.all(*[self.stores[key].bucket_arn for key in stores]),
            "tags": dict(self._plan.tags),
        }
        return [MountpointDriver(f"{self._name}-mountpoint", args, ResourceOptions(parent=self, depends_on=[self.cluster]))]

    def _filesystem(self, key: str) -> "FsxLustre":
        """In the zone and the security group of the GPU nodes. It is AWS's and outlives the cluster."""
        from gpufabric.aws.fsx_lustre import FsxLustre  # likewise

        args: Any = {**lustre_args(self._spec, key), "cluster_name": self.cluster.cluster_name}
        if not self._spec.filesystems[key].existing:
            args["vpc_id"] = self.network.vpc_id
            args["subnet_id"] = self.network.gpu_subnet_id
            args["client_security_group_id"] = self.network.efa_security_group_id
        options = ResourceOptions(parent=self, providers=[self.inside], depends_on=[self.cluster])
        return FsxLustre(f"{self._name}-{key}", args, options)

    def _fabric(self, inside: ResourceOptions) -> list[Resource]:
        """The device plugins."""
        return [FabricDaemons(f"{self._name}-daemons", {"daemons": list(self._plan.parts.daemons)}, inside)]
