"""The roles of a stack, put where they belong: into the pod profiles of its groups, and to who may reach its buckets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpufabric.plan.model import GroupPlan
from gpufabric.plan.storage.model import BUCKET, RolePlan
from gpufabric.plan.storage.pod import pod_files


def with_storage(groups: Sequence[GroupPlan], roles: Sequence[RolePlan]) -> tuple[GroupPlan, ...]:
    """The groups, with the roles' files in their jobs' profiles. Their gates stay as they are."""
    if not roles:
        return tuple(groups)
    return tuple(_with(group, roles) for group in groups)


def _with(group: GroupPlan, roles: Sequence[RolePlan]) -> GroupPlan:
    files = {plan.role: pod_files(plan, group.name) for plan in roles}
    return replace(group, profile=replace(group.profile, storage=files))


def bucket_accounts(roles: Sequence[RolePlan]) -> Mapping[str, list[dict[str, str]]]:
    """Service accounts of the mounts, by the key of the bucket that they reach."""
    accounts: dict[str, list[dict[str, str]]] = {}
    for plan in roles:
        mounts = [each.mount for each in plan.groups if each.mount and plan.choice.kind == BUCKET]
        own = [dict(mount.account) for mount in mounts if mount.account]
        accounts.setdefault(plan.choice.key, []).extend(own)
    return {key: each for key, each in accounts.items() if each}


def bucket_readers(roles: Sequence[RolePlan]) -> Mapping[str, list[dict[str, str]]]:
    """Service accounts of jobs that read a bucket by their own identity, by the bucket's key."""
    # One account for all roles: a bucket of two roles has it once.
    return {plan.choice.key: [dict(plan.reader)] for plan in roles if plan.reader}
