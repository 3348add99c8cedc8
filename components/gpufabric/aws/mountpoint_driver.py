"""The CSI driver of Mountpoint for S3, and the role with which it reaches buckets."""

from typing import NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, ResourceOptions
from pulumi_aws import eks, iam

from gpufabric.kubernetes.handles import wishes
from gpufabric.plan.aws.mountpoint import ACCOUNT, NAMESPACE, plan_driver
from gpufabric.plan.aws.policies import bucket_access, pod_identity_trust
from gpufabric.spec.aws.storage import MountpointDriverWish

_HANDLES = frozenset({"cluster_name", "bucket_arns"})


class MountpointDriverArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.MountpointDriver`."""

    cluster_name: Input[str]
    """Name of the EKS cluster. It has nodes, and the add-on of Pod Identity."""
    bucket_arns: Input[list[str]]
    """ARNs of the buckets that it mounts, at least one. It reaches no other."""
    access: NotRequired[str]
    """What it may do with them: ``read`` (default), or ``write`` (read, write and delete objects)."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is made, at most 40. Default: none."""


class MountpointDriver(ComponentResource):
    """The driver behind BucketMount with ``driver: mountpoint``, as an add-on of the cluster.

    A cluster has one. Its identity is that of every volume: who may make volumes in the cluster reaches these buckets. Wait for
    it (``depends_on``) with what mounts.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    role_arn: Output[str]
    """ARN of the driver's role."""
    version: Output[str]
    """Version of the add-on."""

    def __init__(self, name: str, args: MountpointDriverArgs, opts: ResourceOptions | None = None) -> None:
        plan = plan_driver(MountpointDriverWish.parse(wishes(args, _HANDLES), name))
        super().__init__("gpufabric:index:MountpointDriver", name, {}, opts)
        child = ResourceOptions(parent=self)
        role = iam.Role(f"{name}-driver", assume_role_policy=pod_identity_trust(), tags=dict(plan.tags), opts=child)
        buckets = Output.from_input(args["bucket_arns"])
        policy = iam.RolePolicy(
            f"{name}-driver",
            role=role.name,
            policy=buckets.apply(lambda arns: bucket_access(plan.access, *arns)),
            opts=child,
        )
        # Beside the add-on, not in it: the pods of one that is older than Pod Identity would be refused with it.
        identity = eks.PodIdentityAssociation(
            f"{name}-driver",
            cluster_name=args["cluster_name"],
            namespace=NAMESPACE,
            service_account=ACCOUNT,
            role_arn=role.arn,
            tags=dict(plan.tags),
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        addon = eks.Addon(
            f"{name}-driver",
            cluster_name=args["cluster_name"],
            addon_name=plan.addon,
            addon_version=plan.version,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(plan.tags),
            opts=ResourceOptions(parent=self, depends_on=[identity]),  # a pod gets its role when it is made
        )
        self.role_arn, self.version = role.arn, addon.addon_version
        self.register_outputs({"role_arn": self.role_arn, "version": self.version})
