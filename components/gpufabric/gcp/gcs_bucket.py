"""A bucket that is private, with real folders and a way back from deletion, and what pods may do with it."""

from typing import NotRequired, TypedDict

from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_gcp import storage

from gpufabric.kubernetes.args import ServiceAccountArgs
from gpufabric.plan.gcp.bucket import GcsBucketPlan, plan_bucket, pod_principal
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.storage import GcsBucketWish


class GcsBucketArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.GcsBucket`."""

    project: str
    """Project of the bucket and of the cluster."""
    name: str
    """Name of the bucket, unique in the world: 3 to 63 of ``a-z``, ``0-9``, ``-``, ``_``."""
    region: NotRequired[str]
    """Region of the bucket, that of the GPU nodes. Required, unless it exists."""
    existing: NotRequired[bool]
    """Use the bucket as it is and change nothing of it but who may reach it. Default: false, it is made."""
    hierarchical_namespace: NotRequired[bool]
    """Real folders that are renamed at once, as checkpoints are. Only when it is made. Default: true."""
    access: NotRequired[str]
    """What pods may do: ``read``, or ``write`` (read, write and delete objects). Default: ``write``."""
    service_accounts: NotRequired[list[ServiceAccountArgs]]
    """Service accounts of the project's clusters whose pods may reach the bucket. Default: none."""
    readers: NotRequired[list[ServiceAccountArgs]]
    """Service accounts whose pods may read the bucket, whatever ``access`` says. Default: none."""
    soft_delete_days: NotRequired[int]
    """For how many days a deleted or overwritten object can be restored, 0 to 90: 0 for none, else 7 at least. Default: 7."""
    dangling_upload_days: NotRequired[int]
    """After how many days an upload that was never finished is removed, 1 to 365. Default: 7."""
    protect: NotRequired[bool]
    """Keep the bucket when it leaves the program or the stack is destroyed. Default: true."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is made, at most 54. Default: none."""


class GcsBucket(ComponentResource):
    """A bucket for data, models or checkpoints.

    Pods of ``service_accounts`` reach it by Workload Identity: no key exists that could leak. The cluster needs the driver of
    Cloud Storage FUSE where pods mount it (``csi_drivers`` of GkeCluster).

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    bucket_name: Output[str]
    """Name of the bucket."""
    url: Output[str]
    """``gs://NAME``."""

    def __init__(self, name: str, args: GcsBucketArgs, opts: ResourceOptions | None = None) -> None:
        wish = GcsBucketWish.parse(args, name)
        try:
            plan = plan_bucket(wish)
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:GcsBucket", name, {}, opts)
        self._name, self._child = name, ResourceOptions(parent=self)
        bucket = storage.Bucket.get(f"{name}-bucket", plan.bucket, opts=self._child) if plan.existing else self._made(plan)
        self.bucket_name, self.url = bucket.name, bucket.url
        self._accounts(plan, bucket)
        self.register_outputs({"bucket_name": self.bucket_name, "url": self.url})

    def _made(self, plan: GcsBucketPlan) -> storage.Bucket:
        return storage.Bucket(
            f"{self._name}-bucket",
            name=plan.bucket,
            project=plan.project,
            location=plan.region.upper(),  # as the API says it
            uniform_bucket_level_access=True,  # Workload Identity needs it, and so do real folders
            public_access_prevention="enforced",
            hierarchical_namespace={"enabled": plan.hierarchical_namespace},
            soft_delete_policy={"retention_duration_seconds": plan.soft_delete_s},
            lifecycle_rules=[
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": plan.dangling_upload_days}}
            ],
            force_destroy=False,
            labels=dict(plan.labels),
            opts=ResourceOptions(parent=self, retain_on_delete=plan.protect),
        )

    def _accounts(self, plan: GcsBucketPlan, bucket: storage.Bucket) -> None:
        """The project's number, which IAM asks for, comes from the bucket: nothing has to be looked up."""
        for account, role in plan.grants:
            member = bucket.project_number.apply(lambda number, account=account: pod_principal(number, plan.project, account))
            storage.BucketIAMMember(
                f"{self._name}-{account.namespace}-{account.name}",
                bucket=bucket.name,
                role=role,
                member=member,
                opts=self._child,
            )
