"""A bucket, and who may reach it."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpufabric.plan.storage.parts import account_problems, exists_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws.storage import S3BucketWish
from gpufabric.spec.cloud.storage import ServiceAccountRef


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlan:
    """A bucket: made, or found by its name."""

    bucket: str
    existing: bool
    access: str
    service_accounts: tuple[ServiceAccountRef, ...]
    dangling_upload_days: int
    old_version_days: int
    protect: bool
    tags: Mapping[str, str]


def plan_bucket(spec: S3BucketWish, *, in_cluster: bool, at: str = "") -> BucketPlan:
    """The plan of a bucket; raises :class:`SpecError`. ``in_cluster``: whether a cluster is named whose pods may reach it."""
    problems = []
    if spec.service_accounts and not in_cluster:
        reason = "service accounts of no cluster"
        problems.append(Problem("service_accounts", reason, "give cluster_name too, or leave them out"))
    problems += account_problems(spec.service_accounts)
    if spec.existing:
        decided = {"dangling_upload_days", "old_version_days", "protect"}
        problems += exists_problems(decided & spec.model_fields_set, "the bucket exists and keeps its own settings")
    if problems:
        raise SpecError([problem.below(at) for problem in problems])
    return BucketPlan(
        bucket=spec.name,
        existing=spec.existing,
        access=spec.access,
        service_accounts=tuple(spec.service_accounts),
        dangling_upload_days=spec.dangling_upload_days,
        old_version_days=spec.old_version_days,
        protect=spec.protect,
        tags=spec.tags,
    )
