"""Amazon EKS: the Kubernetes versions that are built here, each with the node image release it is pinned to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, listed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class EksVersion(Row):
    """A row ``[[version]]`` of ``data/eks.toml``. ``ami_release``: of all AL2023 images of this version."""

    kubernetes: str
    ami_release: str
    default: bool = False


@cache
def eks_versions() -> Mapping[str, EksVersion]:
    """All versions by the Kubernetes version, such as ``1.35``."""
    return {row.kubernetes: row for row in listed_rows(EksVersion, "eks.toml", "version")}


def eks_version(kubernetes: str | None = None) -> EksVersion:
    """The version asked for, or the default one; raises :class:`UnknownHardwareError` with the known ones."""
    rows = eks_versions()
    if kubernetes is None:
        return next(row for row in rows.values() if row.default)
    try:
        return rows[kubernetes]
    except KeyError:
        raise UnknownHardwareError("Kubernetes version of EKS", kubernetes, rows) from None
