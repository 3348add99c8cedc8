"""Service quotas that a group of machines counts towards."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


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
