"""A bucket, and who may reach it."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.plan.storage.parts import account_problems, exists_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.cloud.storage import ServiceAccountRef
from gpufabric.spec.gcp.storage import GcsBucketWish

_ROLES = {"read": "roles/storage.objectViewer", "write": "roles/storage.objectUser"}
_SHORTEST_SOFT_DELETE_DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class GcsBucketPlan:
    """A bucket: made, or found by its name. ``role``: of the pods of ``service_accounts``; ``readers`` only read."""

    project: str
    region: str
    bucket: str
    existing: bool
    role: str
    service_accounts: tuple[ServiceAccountRef, ...]
    readers: tuple[ServiceAccountRef, ...]
    hierarchical_namespace: bool
    soft_delete_s: int
    dangling_upload_days: int
    protect: bool
    labels: Mapping[str, str]

    @property
    def grants(self) -> list[tuple[ServiceAccountRef, str]]:
        """Each service account and its role."""
        reads = [(account, _ROLES["read"]) for account in self.readers]
        return [*((account, self.role) for account in self.service_accounts), *reads]


def plan_bucket(spec: GcsBucketWish, *, at: str = "") -> GcsBucketPlan:
    """The plan of a bucket; raises :class:`SpecError`."""
    problems = account_problems([*spec.service_accounts, *spec.readers])
    if spec.existing:
        decided = {"hierarchical_namespace", "soft_delete_days", "dangling_upload_days", "protect"}
        problems += exists_problems(decided & spec.model_fields_set, "the bucket exists and keeps its own settings")
    elif spec.region is None:
        problems.append(Problem("region", "missing", "write the region of the GPU nodes"))
    if 0 < spec.soft_delete_days < _SHORTEST_SOFT_DELETE_DAYS:
        reason = f"{spec.soft_delete_days} days; Cloud Storage keeps deleted objects for 7 to 90 days, or not at all"
        problems.append(Problem("soft_delete_days", reason, "write 7, or 0 for none", "Cloud Storage, Soft delete"))
    if problems:
        raise SpecError([problem.below(at) for problem in problems])
    return GcsBucketPlan(
        project=spec.project,
        region=spec.region or "",
        bucket=spec.name,
        existing=spec.existing,
        role=_ROLES[spec.access],
        service_accounts=tuple(spec.service_accounts),
        readers=tuple(spec.readers),
        hierarchical_namespace=spec.hierarchical_namespace,
        soft_delete_s=spec.soft_delete_days * 86_400,
        dangling_upload_days=spec.dangling_upload_days,
        protect=spec.protect,
        labels=spec.tags,
    )


def pod_principal(project_number: int | str, project: str, account: ServiceAccountRef) -> str:
    """A Kubernetes service account of any of the project's clusters, as IAM names it."""
    pool = f"projects/{project_number}/locations/global/workloadIdentityPools/{project}.svc.id.goog"
    return f"principal://iam.googleapis.com/{pool}/subject/ns/{account.namespace}/sa/{account.name}"
