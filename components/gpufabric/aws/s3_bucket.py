"""A bucket that is private, versioned, encrypted and reached by TLS alone, and the role with which pods reach it."""

from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, ResourceOptions
from pulumi_aws import eks, iam, s3

from gpufabric.kubernetes.args import ServiceAccountArgs
from gpufabric.kubernetes.handles import given, wishes
from gpufabric.plan.aws.bucket import BucketPlan, plan_bucket
from gpufabric.plan.aws.policies import bucket_access, pod_identity_trust, tls_only
from gpufabric.spec import SpecError
from gpufabric.spec.aws.storage import S3BucketWish

_HANDLES = frozenset({"cluster_name"})


class S3BucketArgs(TypedDict):
    """Arguments of :class:`gpufabric.aws.S3Bucket`."""

    name: str
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``."""
    existing: NotRequired[bool]
    """Use the bucket as it is, in this region, and change nothing of it. Default: false, it is made."""
    cluster_name: NotRequired[Input[str]]
    """Name of the EKS cluster whose pods reach the bucket. Default: none."""
    access: NotRequired[str]
    """What pods may do: ``read``, or ``write`` (read, write and delete objects). Default: ``write``."""
    service_accounts: NotRequired[list[ServiceAccountArgs]]
    """Service accounts of the cluster whose pods may reach the bucket. Default: none."""
    dangling_upload_days: NotRequired[int]
    """After how many days an upload that was never finished is removed, 1 to 365. Default: 7."""
    old_version_days: NotRequired[int]
    """After how many days an overwritten or deleted version of an object is removed, 1 to 3,650. Default: 30."""
    protect: NotRequired[bool]
    """Keep the bucket when it leaves the program or the stack is destroyed. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that is made, at most 40. Default: none."""


class S3Bucket(ComponentResource):
    """A bucket for data, models or checkpoints.

    Pods of ``service_accounts`` reach it by EKS Pod Identity: no key exists that could leak.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    bucket_name: Output[str]
    """Name of the bucket."""
    bucket_arn: Output[str]
    """ARN of the bucket."""
    role_arn: Output[str]
    """ARN of the role of the pods; empty where no service account is named."""

    def __init__(self, name: str, args: S3BucketArgs, opts: ResourceOptions | None = None) -> None:
        wish = S3BucketWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_bucket(wish, in_cluster=bool(given(args, _HANDLES)))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:S3Bucket", name, {}, opts)
        self._name, self._plan, self._child = name, plan, ResourceOptions(parent=self)
        bucket = s3.Bucket.get(f"{name}-bucket", plan.bucket, opts=self._child) if plan.existing else self._made(plan)
        self.bucket_name, self.bucket_arn = bucket.bucket, bucket.arn
        self.role_arn = Output.from_input("")
        if plan.service_accounts:
            self.role_arn = self._role(plan, args["cluster_name"])
        self.register_outputs({"bucket_name": self.bucket_name, "bucket_arn": self.bucket_arn, "role_arn": self.role_arn})

    def _made(self, plan: BucketPlan) -> s3.Bucket:
        """The bucket and its settings. All are kept with it: a kept bucket must not lose its policy."""
        kept = ResourceOptions(parent=self, retain_on_delete=plan.protect)
        bucket = s3.Bucket(f"{self._name}-bucket", bucket=plan.bucket, tags=dict(plan.tags), opts=kept)
        of_bucket: dict[str, Any] = {"bucket": bucket.id, "opts": kept}
        closed = s3.BucketPublicAccessBlock(
            f"{self._name}-private",
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            **of_bucket,
        )
        s3.BucketOwnershipControls(f"{self._name}-owner", rule={"object_ownership": "BucketOwnerEnforced"}, **of_bucket)
        versioned = s3.BucketVersioning(f"{self._name}-versions", versioning_configuration={"status": "Enabled"}, **of_bucket)
        s3.BucketServerSideEncryptionConfiguration(
            f"{self._name}-encryption",
            # Not KMS: its requests are limited, and thousands of ranks read at once.
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            **of_bucket,
        )
        s3.BucketLifecycleConfiguration(
            f"{self._name}-lifecycle",
            bucket=bucket.id,
            rules=[
                {
                    "id": "dangling-uploads",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": plan.dangling_upload_days},
                },
                {
                    "id": "old-versions",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "noncurrent_version_expiration": {"noncurrent_days": plan.old_version_days},
                },
            ],
            opts=ResourceOptions(parent=self, retain_on_delete=plan.protect, depends_on=[versioned]),
        )
        # S3 answers a policy and a public access block that are written at once with a conflict: one after the other.
        s3.BucketPolicy(
            f"{self._name}-tls-only",
            bucket=bucket.id,
            policy=bucket.arn.apply(tls_only),
            opts=ResourceOptions(parent=self, retain_on_delete=plan.protect, depends_on=[closed]),
        )
        return bucket

    def _role(self, plan: BucketPlan, cluster_name: Input[str]) -> Output[str]:
        role = iam.Role(f"{self._name}-pods", assume_role_policy=pod_identity_trust(), tags=dict(plan.tags), opts=self._child)
        policy = iam.RolePolicy(
            f"{self._name}-pods",
            role=role.name,
            policy=self.bucket_arn.apply(lambda arn: bucket_access(plan.access, arn)),
            opts=self._child,
        )
        for account in plan.service_accounts:
            eks.PodIdentityAssociation(
                f"{self._name}-{account.namespace}-{account.name}",
                cluster_name=cluster_name,
                namespace=account.namespace,
                service_account=account.name,
                role_arn=role.arn,
                tags=dict(plan.tags),
                opts=ResourceOptions(parent=self, depends_on=[policy]),
            )
        arn: Output[str] = role.arn
        return arn
