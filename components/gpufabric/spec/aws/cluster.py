"""The EKS cluster: made, or one that exists."""

from pydantic import Field

from gpufabric.spec.base import Wish


class ExistingEks(Wish):
    """An EKS cluster that exists."""

    name: str
    """Name of the cluster."""


class EksClusterSpec(Wish):
    """A cluster of its own, or an existing one."""

    existing: ExistingEks | None = None
    """A cluster that exists. Default: one is made."""
    kubernetes_version: str | None = None
    """Kubernetes version, such as ``1.35``. Default: the table's."""
    admin_principals: list[str] = Field(default_factory=list)
    """ARNs of IAM users or roles that become administrators, besides who creates the cluster. Default: none."""
