"""The EKS cluster: private by default, encrypted, logged, with its add-ons and its CPU nodes; or one that exists."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, Resource, ResourceOptions
from pulumi_aws import cloudwatch, ec2, eks, iam, kms

from gpufabric.aws.nodes import NODE_POLICIES, encrypted_root, managed_role
from gpufabric.kubernetes.args import ApiAccessArgs
from gpufabric.kubernetes.handles import given, wishes
from gpufabric.plan.aws.cluster import LOG_DAYS, LOGS, AddonPlan, ClusterPlan, kubeconfig, plan_cluster
from gpufabric.plan.aws.policies import pod_identity_trust, trust
from gpufabric.spec import SpecError
from gpufabric.spec.aws.cluster import EksClusterWish

_SYSTEM_DISK_GIB = 100
_KEY_DAYS = 30
_HANDLES = frozenset({"subnet_ids", "system_subnet_ids"})


class ExistingEksArgs(TypedDict):
    """An EKS cluster that exists. Nothing of it is changed."""

    name: str
    """Its name, in the region of the stack."""


class SystemNodesArgs(TypedDict):
    """CPU nodes without taint, where CoreDNS, controllers and the gate's coordinator run."""

    machine_type: NotRequired[str]
    """Machine type, x86. Default: ``m7i.xlarge``, 4 vCPU and 16 GiB."""
    nodes: NotRequired[int]
    """How many, 2 to 50. Default: 2, since one may fail."""


class EksClusterArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.EksCluster`."""

    region: str
    """Region of the cluster, such as ``us-east-2``."""
    subnet_ids: NotRequired[Input[list[str]]]
    """Private subnets in two zones or more. Required, unless the cluster exists."""
    system_subnet_ids: NotRequired[Input[list[str]]]
    """Private subnets of the CPU nodes. Default: ``subnet_ids``."""
    api_access: NotRequired[ApiAccessArgs]
    """From where the API can be called. Required, unless the cluster exists."""
    kubernetes_version: NotRequired[str]
    """Kubernetes version, such as ``1.35``. Default: the one for which the table pins node images."""
    admin_principals: NotRequired[list[str]]
    """ARNs of IAM roles and users that become administrators, beside who creates the cluster. Default: none."""
    control_plane_tier: NotRequired[str]
    """``standard``, ``tier-xl``, ``tier-2xl``, ``tier-4xl``, ``tier-8xl``. Default: from the number of nodes."""
    system_nodes: NotRequired[SystemNodesArgs]
    """The CPU nodes. Default: two ``m7i.xlarge``."""
    existing: NotRequired[ExistingEksArgs]
    """A cluster that exists, instead of all other keys but ``region``. Default: one is made."""
    gpu_nodes: NotRequired[int]
    """How many GPU nodes the cluster will hold, 0 to 5,000. Default: 0."""
    prefix_delegation: NotRequired[bool]
    """Whether pods get addresses in blocks of 16: needed where a network card holds two interfaces. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is made, at most 40. Default: none."""


class EksCluster(ComponentResource):
    """An EKS cluster that is ready for GPU node groups: give them ``depends_on=[cluster]``, for they need its add-ons.

    Who creates it is an administrator; ``admin_principals`` are further ones. Add-ons that a node needs come before the CPU
    nodes, add-ons that need nodes after them.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    cluster_name: Output[str]
    """Name of the cluster."""
    endpoint: Output[str]
    """Address of the API."""
    security_group_id: Output[str]
    """The cluster's own security group: nodes whose launch template names any group have to name this one too."""
    oidc_issuer: Output[str]
    """Issuer of the cluster's tokens, for roles that trust it. Components here use EKS Pod Identity instead."""
    kubeconfig: Output[str]
    """Secret: a kubeconfig, as JSON, that asks the AWS command line for a token whenever it is used."""

    def __init__(self, name: str, args: EksClusterArgs, opts: ResourceOptions | None = None) -> None:
        wish = EksClusterWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_cluster(name, wish, has_subnets="subnet_ids" in given(args, _HANDLES))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:EksCluster", name, {}, opts)
        self._name, self._child = name, ResourceOptions(parent=self)
        if isinstance(plan, ClusterPlan):
            self._make(plan, args)
        else:
            self._yield(eks.Cluster.get(f"{name}-cluster", plan, opts=self._child))
        self.register_outputs(
            {
                "cluster_name": self.cluster_name,
                "endpoint": self.endpoint,
                "security_group_id": self.security_group_id,
                "oidc_issuer": self.oidc_issuer,
                "kubeconfig": self.kubeconfig,
            }
        )

    def _make(self, plan: ClusterPlan, args: EksClusterArgs) -> None:
        self._yield(self._cluster(plan, args["subnet_ids"]))
        self._admins(plan)
        first: list[Resource] = [self._addon(addon, plan, []) for addon in plan.before_nodes]
        nodes = self._system_nodes(plan, args.get("system_subnet_ids", args["subnet_ids"]), first)
        for addon in plan.after_nodes:
            self._addon(addon, plan, [nodes])

    def _yield(self, cluster: eks.Cluster) -> None:
        self.cluster_name = cluster.name
        self.endpoint = cluster.endpoint
        self.security_group_id = cluster.vpc_config.apply(lambda found: found.cluster_security_group_id)
        self.oidc_issuer = cluster.identities.apply(lambda found: found[0].oidcs[0].issuer)
        authority = cluster.certificate_authority.apply(lambda found: found.data)
        parts = Output.all(name=cluster.name, arn=cluster.arn, endpoint=cluster.endpoint, authority=authority)
        self.kubeconfig = Output.secret(parts.apply(lambda found: kubeconfig(**found)))

    def _cluster(self, plan: ClusterPlan, subnet_ids: Input[list[str]]) -> eks.Cluster:
        role, attached = self._role("cluster", trust("eks", plan.region), plan, ["AmazonEKSClusterPolicy"])
        key = kms.Key(
            f"{self._name}-secrets",
            description=f"Secrets of the EKS cluster {plan.name}",
            enable_key_rotation=True,
            deletion_window_in_days=_KEY_DAYS,
            tags=dict(plan.tags),
            opts=self._child,
        )
        # Made before the cluster: EKS would make it itself, keep the logs for ever, and leave it behind.
        logs = cloudwatch.LogGroup(
            f"{self._name}-logs",
            name=f"/aws/eks/{plan.name}/cluster",
            retention_in_days=LOG_DAYS,
            tags=dict(plan.tags),
            opts=self._child,
        )
        return eks.Cluster(
            f"{self._name}-cluster",
            name=plan.name,
            role_arn=role.arn,
            version=plan.version,
            vpc_config={
                "subnet_ids": subnet_ids,
                "endpoint_private_access": True,
                "endpoint_public_access": bool(plan.public_cidrs),
                **({"public_access_cidrs": list(plan.public_cidrs)} if plan.public_cidrs else {}),
            },
            access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
            bootstrap_self_managed_addons=False,
            control_plane_scaling_config={"tier": plan.tier},
            enabled_cluster_log_types=list(LOGS),
            encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
            # STANDARD would upgrade the control plane by itself, in the middle of somebody's training run.
            upgrade_policy={"support_type": "EXTENDED"},
            tags=dict(plan.tags),
            opts=ResourceOptions(parent=self, depends_on=[*attached, logs]),
        )

    def _admins(self, plan: ClusterPlan) -> None:
        for admin in plan.admins:
            entry = eks.AccessEntry(
                f"{self._name}-admin-{admin.key}",
                cluster_name=self.cluster_name,
                principal_arn=admin.principal,
                type="STANDARD",
                tags=dict(plan.tags),
                opts=self._child,
            )
            eks.AccessPolicyAssociation(
                f"{self._name}-admin-{admin.key}",
                cluster_name=self.cluster_name,
                principal_arn=admin.principal,
                policy_arn=plan.admin_policy,
                access_scope={"type": "cluster"},
                opts=ResourceOptions(parent=self, depends_on=[entry]),
            )

    def _addon(self, addon: AddonPlan, plan: ClusterPlan, after: Sequence[Resource]) -> eks.Addon:
        identity: dict[str, Any] = {}
        before = list(after)
        if addon.policy:
            role, attached = self._role(addon.name, pod_identity_trust(), plan, [addon.policy])
            pods = {"role_arn": role.arn, "service_account": addon.service_account}
            identity, before = {"pod_identity_associations": [pods]}, [*before, *attached]
        return eks.Addon(
            f"{self._name}-{addon.name}",
            cluster_name=self.cluster_name,
            addon_name=addon.name,
            configuration_values=addon.configuration_json,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(plan.tags),
            opts=ResourceOptions(parent=self, depends_on=before),
            **identity,
        )

    def _system_nodes(self, plan: ClusterPlan, subnet_ids: Input[list[str]], after: Sequence[Resource]) -> eks.NodeGroup:
        role, attached = self._role("system", trust("ec2", plan.region), plan, NODE_POLICIES)
        tags = {**plan.tags, "Name": f"{self._name}-system"}
        template = ec2.LaunchTemplate(
            f"{self._name}-system",
            update_default_version=True,
            metadata_options={"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1},
            block_device_mappings=encrypted_root(_SYSTEM_DISK_GIB),
            tag_specifications=[{"resource_type": kind, "tags": tags} for kind in ("instance", "volume")],
            tags=dict(plan.tags),
            opts=self._child,
        )
        return eks.NodeGroup(
            f"{self._name}-system",
            cluster_name=self.cluster_name,
            node_role_arn=role.arn,
            subnet_ids=subnet_ids,
            version=plan.version,
            ami_type="AL2023_x86_64_STANDARD",
            instance_types=[plan.system_machine_type],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": plan.system_nodes, "max_size": plan.system_nodes, "desired_size": plan.system_nodes},
            update_config={"max_unavailable": 1},
            labels={"gpufabric.dev/system": "true"},
            tags=dict(plan.tags),
            opts=ResourceOptions(parent=self, depends_on=[*after, *attached]),
        )

    def _role(
        self, part: str, trusted: str, plan: ClusterPlan, policies: Sequence[str]
    ) -> tuple[iam.Role, list[iam.RolePolicyAttachment]]:
        name = f"{self._name}-{part}"
        return managed_role(name, trusted, policies, region=plan.region, tags=plan.tags, opts=self._child)
