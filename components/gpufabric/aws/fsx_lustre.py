"""A Lustre file system for a training cluster: its ports, the CSI driver, and a claim that pods mount."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from pulumi import ComponentResource, CustomTimeouts, Input, Output, Resource, ResourceOptions
from pulumi_aws import ec2, eks, fsx, vpc

from gpufabric.kubernetes.handles import given, wishes
from gpufabric.kubernetes.volumes import shared_volume
from gpufabric.plan.aws.filesystem import ADDON, DRIVER, plan_filesystem
from gpufabric.spec import SpecError
from gpufabric.spec.aws.storage import FsxLustreWish

_HANDLES = frozenset({"cluster_name", "vpc_id", "subnet_id", "client_security_group_id"})


class FsxLustreArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.FsxLustre`."""

    cluster_name: NotRequired[Input[str]]
    """Name of the EKS cluster, for the driver's add-on. Required, unless ``driver`` is false."""
    vpc_id: NotRequired[Input[str]]
    """The VPC. Required, unless the file system exists."""
    subnet_id: NotRequired[Input[str]]
    """The subnet, that of the GPU nodes. Required, unless the file system exists."""
    client_security_group_id: NotRequired[Input[str]]
    """Security group of the nodes, with EFA their EFA group. Required, unless the file system exists."""
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
    claim: NotRequired[str]
    """Name of the PersistentVolumeClaim that pods mount. Default: ``shared``."""
    namespace: NotRequired[str]
    """Namespace of the claim; it exists. Default: ``default``."""
    driver: NotRequired[bool]
    """Install the CSI driver's add-on. Default: true; ``false`` where the cluster has it."""
    protect: NotRequired[bool]
    """Refuse to delete the file system. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is made, at most 40. Default: none."""


class FsxLustre(ComponentResource):
    """A file system of FSx for Lustre, PERSISTENT_2 on SSD, as a claim in the cluster.

    Needs a Kubernetes provider of the cluster (``providers``). Nothing is mounted anywhere: pods name the claim.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    file_system_id: Output[str]
    """Id of the file system."""
    claim: Output[str]
    """``namespace/name`` of the claim."""

    def __init__(self, name: str, args: FsxLustreArgs, opts: ResourceOptions | None = None) -> None:
        wish = FsxLustreWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_filesystem(wish, handles=given(args, _HANDLES))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:FsxLustre", name, {}, opts)
        self._name, self._plan, self._child = name, plan, ResourceOptions(parent=self)
        found = fsx.LustreFileSystem.get(f"{name}-lustre", plan.existing, opts=self._child) if plan.existing else None
        file_system = found or self._made(args)
        self.file_system_id = file_system.id
        driver = [self._driver(args["cluster_name"])] if plan.driver else []
        self.claim = self._volume(file_system, driver)
        self.register_outputs({"file_system_id": self.file_system_id, "claim": self.claim})

    def _made(self, args: FsxLustreArgs) -> fsx.LustreFileSystem:
        group, rules = self._group(args["vpc_id"], args["client_security_group_id"])
        plan = self._plan
        iops = plan.metadata_ops_per_s
        timeout = f"{plan.create_minutes}m"
        return fsx.LustreFileSystem(
            f"{self._name}-lustre",
            subnet_ids=args["subnet_id"],
            security_group_ids=[group.id],
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=plan.size_gib,
            per_unit_storage_throughput=plan.throughput_mbytes_per_s_per_tib,
            efa_enabled=plan.efa,
            metadata_configuration={"mode": "USER_PROVISIONED", "iops": iops} if iops else {"mode": "AUTOMATIC"},
            tags={**plan.tags, "Name": self._name},
            opts=ResourceOptions(
                parent=self,
                protect=plan.protect,
                depends_on=rules,  # FSx looks at the rules when it creates, and refuses a group that lacks them
                custom_timeouts=CustomTimeouts(create=timeout, update=timeout, delete=timeout),
            ),
        )

    def _group(self, vpc_id: Input[str], clients: Input[str]) -> tuple[ec2.SecurityGroup, list[Resource]]:
        """Own group of the file system; both sides let each other in and out, on Lustre's ports or, with EFA, altogether."""
        plan = self._plan
        group = ec2.SecurityGroup(
            f"{self._name}-lustre",
            vpc_id=vpc_id,
            description="Lustre: file servers, and nodes that mount",
            tags={**plan.tags, "Name": f"{self._name}-lustre"},
            opts=self._child,
        )
        rules: list[Resource] = []
        for pair, at, other in (
            ("servers", group.id, group.id),
            ("from-nodes", group.id, clients),
            ("nodes", clients, group.id),
        ):
            for ports, words in plan.traffic:
                for direction, kind in (("in", vpc.SecurityGroupIngressRule), ("out", vpc.SecurityGroupEgressRule)):
                    rules.append(
                        kind(
                            f"{self._name}-{pair}-{ports}-{direction}",
                            security_group_id=at,
                            referenced_security_group_id=other,
                            tags=dict(plan.tags),
                            opts=self._child,
                            **words,
                        )
                    )
        return group, rules

    def _driver(self, cluster_name: Input[str]) -> eks.Addon:
        """Without permissions in AWS: the driver needs them to make file systems, and this one is made here."""
        return eks.Addon(
            f"{self._name}-driver",
            cluster_name=cluster_name,
            addon_name=ADDON,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(self._plan.tags),
            opts=self._child,
        )

    def _volume(self, file_system: fsx.LustreFileSystem, driver: Sequence[Resource]) -> Output[str]:
        plan = self._plan
        return shared_volume(
            self._name,
            claim=plan.claim,
            namespace=plan.namespace,
            size_gib=file_system.storage_capacity,
            source={
                "csi": {
                    "driver": DRIVER,
                    "volume_handle": file_system.id,
                    "volume_attributes": {"dnsname": file_system.dns_name, "mountname": file_system.mount_name},
                }
            },
            mount_options=["flock"],
            parent=self,
            after=driver,
        )
