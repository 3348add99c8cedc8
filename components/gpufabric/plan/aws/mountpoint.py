"""The driver of Mountpoint for S3: an add-on of the cluster, at the version of the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpufabric.hardware.bucket_drivers import MOUNTPOINT, bucket_drivers
from gpufabric.plan.storage.model import RolePlan
from gpufabric.spec.aws.storage import MountpointDriverWish

NAMESPACE, ACCOUNT = "kube-system", "s3-csi-driver-sa"
"""The service account of the add-on's own pods (mountpoint-s3-csi-driver docs/CONFIGURATION.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountpointDriverPlan:
    """``access``: of the driver's role to its buckets."""

    addon: str
    version: str
    access: str
    tags: Mapping[str, str]


def plan_driver(wish: MountpointDriverWish) -> MountpointDriverPlan:
    """The plan of the driver; nothing of such a wish can be refused."""
    row = bucket_drivers()[MOUNTPOINT]
    return MountpointDriverPlan(addon=row.addon, version=row.addon_version, access=wish.access, tags=wish.tags)


def mountpoint_stores(roles: Sequence[RolePlan]) -> list[str]:
    """The keys of the buckets that the driver mounts for a stack's roles."""
    return list(dict.fromkeys(plan.choice.key for plan in roles if plan.choice.driver == MOUNTPOINT))
