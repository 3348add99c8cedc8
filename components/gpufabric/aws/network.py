"""The network of a training cluster: a VPC with private subnets, or the EFA security group alone in one that exists."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, ResourceOptions
from pulumi_aws import ec2, vpc

from gpufabric.kubernetes.handles import known
from gpufabric.plan.aws.network import NetworkPlan, SubnetPlan, plan_network
from gpufabric.spec import SpecError
from gpufabric.spec.aws.network import AwsNetworkWish

_ANYWHERE = "0.0.0.0/0"


class ExistingNetworkArgs(TypedDict):
    """A VPC that exists. Nothing in it is changed; only the EFA security group is made there, unless one is named."""

    vpc: Input[str]
    """Id of the VPC."""
    subnets: list[Input[str]]
    """Private subnets of the cluster, in two zones or more; at least two."""
    node_subnet: NotRequired[Input[str]]
    """The private subnet of the nodes, in ``zone``. Default: the first of ``subnets``."""
    security_group: NotRequired[Input[str]]
    """EFA security group that exists: all traffic to itself, in and out. Default: one is made."""


class AwsNetworkArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.AwsNetwork`."""

    zone: str
    """The zone of the GPU nodes, such as ``us-east-2b``: EFA does not cross zones."""
    gpu_nodes: NotRequired[int]
    """How many GPU nodes the network has to hold, 0 to 5,000. Default: 0, which checks nothing."""
    cidr: NotRequired[str]
    """Private block of the VPC, /16 to /20. Default: ``10.0.0.0/16``."""
    gpu_cidr: NotRequired[str]
    """A second block of the VPC, for the GPU nodes alone, when half of ``cidr`` is too small. Default: none."""
    zones: NotRequired[list[str]]
    """Two or three zones of the cluster's own interfaces. Default: ``zone``, and the first of a, b, c that is another one."""
    existing: NotRequired[ExistingNetworkArgs]
    """A VPC that exists, instead of ``cidr``, ``gpu_cidr`` and ``zones``. Default: one is made."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is made, at most 40. Default: none."""


class AwsNetwork(ComponentResource):
    """A VPC for one training cluster: private subnets, one NAT gateway, S3 without a detour, the EFA security group.

    Nodes have no public address: AWS gives none to machines with more than one network interface.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    vpc_id: Output[str]
    """Id of the VPC."""
    cluster_subnet_ids: Output[Sequence[str]]
    """Private subnets of the cluster's own interfaces, in two zones or more."""
    system_subnet_id: Output[str]
    """Private subnet of the system nodes, in the zone of the GPU nodes."""
    gpu_subnet_id: Output[str]
    """Private subnet of the GPU nodes."""
    efa_security_group_id: Output[str]
    """Security group of every EFA interface: all traffic to itself, in and out."""

    def __init__(self, name: str, args: AwsNetworkArgs, opts: ResourceOptions | None = None) -> None:
        wish = AwsNetworkWish.parse(_plain(args), name)
        try:
            plan = plan_network(wish)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:AwsNetwork", name, {}, opts)
        self._name, self._plan, self._child = name, plan, ResourceOptions(parent=self)
        if plan.existing:
            self._find(args["existing"], plan)
        else:
            self._make(plan)
        self.register_outputs(
            {
                "vpc_id": self.vpc_id,
                "cluster_subnet_ids": self.cluster_subnet_ids,
                "system_subnet_id": self.system_subnet_id,
                "gpu_subnet_id": self.gpu_subnet_id,
                "efa_security_group_id": self.efa_security_group_id,
            }
        )

    def _find(self, existing: ExistingNetworkArgs, plan: NetworkPlan) -> None:
        """Ids of what exists are taken as they are: that they fit each other is the preflight's to see."""
        self.vpc_id = Output.from_input(existing["vpc"])
        self.cluster_subnet_ids = Output.all(*existing["subnets"])
        self.gpu_subnet_id = Output.from_input(existing.get("node_subnet", existing["subnets"][0]))
        self.system_subnet_id = self.gpu_subnet_id
        group = existing.get("security_group")
        self.efa_security_group_id = self._efa_group(plan).id if group is None else Output.from_input(group)

    def _make(self, plan: NetworkPlan) -> None:
        made = ec2.Vpc(
            f"{self._name}-vpc",
            cidr_block=plan.cidr,
            enable_dns_hostnames=True,  # EKS asks for both: nodes find the API by name
            enable_dns_support=True,
            tags=self._tags("vpc"),
            opts=self._child,
        )
        self.vpc_id = made.id
        subnets = self._subnets(plan)
        self._routes(plan, subnets)
        cluster = [subnets[each.key].id for each in plan.cluster_subnets]
        self.cluster_subnet_ids = Output.all(*cluster)
        self.system_subnet_id = cluster[0]
        self.gpu_subnet_id = subnets["gpu"].id
        self.efa_security_group_id = self._efa_group(plan).id

    def _subnets(self, plan: NetworkPlan) -> dict[str, ec2.Subnet]:
        of_second_block = self._child
        if plan.gpu_cidr:
            second = ec2.VpcIpv4CidrBlockAssociation(
                f"{self._name}-gpu-block", vpc_id=self.vpc_id, cidr_block=plan.gpu_cidr, opts=self._child
            )
            of_second_block = ResourceOptions(parent=self, depends_on=[second])
        return {
            each.key: ec2.Subnet(
                f"{self._name}-{each.key}",
                vpc_id=self.vpc_id,
                availability_zone=each.zone,
                cidr_block=each.cidr,
                map_public_ip_on_launch=False,
                tags=self._tags(each.key) | _load_balancer_tag(each),
                opts=of_second_block if each.cidr == plan.gpu_cidr else self._child,
            )
            for each in plan.subnets
        }

    def _routes(self, plan: NetworkPlan, subnets: Mapping[str, ec2.Subnet]) -> None:
        """Out through one NAT gateway in the GPU nodes' zone: they have no other zone to fall back to."""
        gateway = ec2.InternetGateway(
            f"{self._name}-internet", vpc_id=self.vpc_id, tags=self._tags("internet"), opts=self._child
        )
        address = ec2.Eip(f"{self._name}-nat", domain="vpc", tags=self._tags("nat"), opts=self._child)
        nat = ec2.NatGateway(
            f"{self._name}-nat",
            allocation_id=address.id,
            subnet_id=subnets["public"].id,
            tags=self._tags("nat"),
            opts=ResourceOptions(parent=self, depends_on=[gateway]),
        )
        public = self._table("public", gateway_id=gateway.id)
        private = self._table("private", nat_gateway_id=nat.id)
        for each in plan.subnets:
            ec2.RouteTableAssociation(
                f"{self._name}-{each.key}",
                subnet_id=subnets[each.key].id,
                route_table_id=(public if each.public else private).id,
                opts=self._child,
            )
        # Data and checkpoints would otherwise go through the NAT gateway, which is slow for them and billed by the byte.
        ec2.VpcEndpoint(
            f"{self._name}-s3",
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{plan.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[private.id],
            tags=self._tags("s3"),
            opts=self._child,
        )

    def _table(self, kind: str, **target: Any) -> ec2.RouteTable:
        table = ec2.RouteTable(f"{self._name}-{kind}", vpc_id=self.vpc_id, tags=self._tags(kind), opts=self._child)
        ec2.Route(f"{self._name}-{kind}", route_table_id=table.id, destination_cidr_block=_ANYWHERE, opts=self._child, **target)
        return table

    def _efa_group(self, plan: NetworkPlan) -> ec2.SecurityGroup:
        """EFA traffic is judged by group alone: a rule for an address block, however wide, does not let it through."""
        group = ec2.SecurityGroup(
            f"{self._name}-efa",
            vpc_id=self.vpc_id,
            description="EFA: all traffic between members of this group, in and out",
            tags=self._tags("efa"),
            opts=self._child,
        )
        rule: dict[str, Any] = {
            "security_group_id": group.id,
            "referenced_security_group_id": group.id,
            "ip_protocol": "-1",
            "tags": dict(plan.tags),
            "opts": self._child,
        }
        vpc.SecurityGroupIngressRule(f"{self._name}-efa-in", **rule)
        vpc.SecurityGroupEgressRule(f"{self._name}-efa-out", **rule)
        return group

    def _tags(self, part: str) -> dict[str, str]:
        return {**self._plan.tags, "Name": f"{self._name}-{part}"}


def _plain(args: Any) -> Any:
    """The args as the spec reads them: ids that are not known yet are stood in for."""
    existing = args.get("existing") if isinstance(args, Mapping) else None
    if not isinstance(existing, Mapping):
        return args
    found: dict[str, Any] = dict(existing)
    for key, prefix in (("vpc", "vpc"), ("node_subnet", "subnet"), ("security_group", "sg")):
        if key in found:
            found[key] = known(found[key], f"{prefix}-00000000")
    if isinstance(found.get("subnets"), list):
        found["subnets"] = [known(each, f"subnet-{position:08x}") for position, each in enumerate(found["subnets"])]
    return {**args, "existing": found}


def _load_balancer_tag(subnet: SubnetPlan) -> dict[str, str]:
    """How Kubernetes finds the subnets of its load balancers (EKS user guide, VPC requirements)."""
    return {f"kubernetes.io/role/{'elb' if subnet.public else 'internal-elb'}": "1"}
