"""Amazon EKS: Kubernetes versions with their pinned image release, image families, rules of capacity blocks."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AmiType(Row):
    """A row ``[[ami_type]]``: a family of node images with GPU drivers. ``refusal``: why it is not taken here."""

    name: str
    architecture: str
    default: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBlockRules(Row):
    """The row ``[[capacity_block]]``."""

    most_nodes: int
    closes_before_end_s: int


@cache
def ami_types() -> Mapping[str, AmiType]:
    """Image families by EKS's name."""
    return {row.name: row for row in listed_rows(AmiType, "eks.toml", "ami_type")}


@cache
def capacity_block_rules() -> CapacityBlockRules:
    """What AWS says of every capacity block."""
    return next(listed_rows(CapacityBlockRules, "eks.toml", "capacity_block"))


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
