"""Quotas that machines, and what goes with them, count towards."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, listed_rows, named_rows

_GCP = "quotas_gcp.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsQuota(Row):
    """One row of ``data/quotas_aws.toml``, whose head says what each key means."""

    name: str
    capacity_kind: str
    families: tuple[str, ...]


@cache
def aws_quotas() -> Mapping[str, AwsQuota]:
    """All known quotas by AWS's name."""
    return named_rows(AwsQuota, "quotas_aws.toml")


def aws_quota(machine: str, capacity_kind: str) -> AwsQuota | None:
    """The quota that ``machine`` (an instance type) counts towards; None where none is known, or there is none."""
    family = machine.partition(".")[0]
    rows = aws_quotas().values()
    return next((row for row in rows if row.capacity_kind == capacity_kind and family in row.families), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpGpuQuota(Row):
    """A row ``[[gpu]]`` of ``data/quotas_gcp.toml``, whose head says what each key means."""

    accelerator_type: str
    on_demand: str
    gpu_family: str = ""
    preemptible: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpCpuQuota(Row):
    """A row ``[[cpu]]``."""

    metric: str
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpDiskQuota(Row):
    """A row ``[[disk]]``."""

    metric: str
    types: tuple[str, ...]


@cache
def gcp_gpu_quotas() -> Mapping[str, GcpGpuQuota]:
    """By Google's name of the GPU."""
    return {row.accelerator_type: row for row in listed_rows(GcpGpuQuota, _GCP, "gpu")}


def gcp_cpu_quota(machine_type: str) -> GcpCpuQuota | None:
    """The quota that the vCPUs of a CPU machine count towards; None where none is known."""
    family = machine_type.partition("-")[0]
    return next((row for row in listed_rows(GcpCpuQuota, _GCP, "cpu") if family in row.families), None)


def gcp_disk_quota(disk_type: str) -> GcpDiskQuota | None:
    """The quota that a disk counts towards; None where none is known."""
    return next((row for row in listed_rows(GcpDiskQuota, _GCP, "disk") if disk_type in row.types), None)
