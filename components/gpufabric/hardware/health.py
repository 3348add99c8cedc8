"""What a healthy node is: checks with threshold, severity and advice; NVLinks; adapters; what each XID means."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, TableError, listed_rows

_FILE = "health.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck(Row):
    """A row ``[[check]]``. ``severity``: fatal, warning or note. A threshold that a check does not have is 0."""

    name: str
    severity: str
    fix: str
    least_mib: int = 0
    most_errors: int = 0
    window_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DcgmLevel(Row):
    """A row ``[[dcgm]]``: a level of dcgmi diag. ``more_s``: seconds that it may take beyond the minute of all readings."""

    level: int
    more_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinks(Row):
    """A row ``[[nvlink]]``: active links of a healthy GPU."""

    accelerators: tuple[str, ...]
    links_per_gpu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hcas(Row):
    """A row ``[[hca]]``: host channel adapters of a node and the rate of each port."""

    fabric: str
    accelerators: tuple[str, ...]
    per_node: int
    hcas_per_node: int
    rate_gbits_per_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class XidRow(Row):
    """A row ``[[xid]]``: codes of one meaning. ``severity``: as of a check, or ignore."""

    codes: tuple[int, ...]
    severity: str
    action: str


@cache
def health_checks() -> Mapping[str, HealthCheck]:
    """All checks by name."""
    return {row.name: row for row in listed_rows(HealthCheck, _FILE, "check")}


@cache
def dcgm_levels() -> Mapping[int, DcgmLevel]:
    """All levels by number."""
    return {row.level: row for row in listed_rows(DcgmLevel, _FILE, "dcgm")}


@cache
def xids() -> Mapping[int, XidRow]:
    """What is known of each XID."""
    found: dict[int, XidRow] = {}
    for row in listed_rows(XidRow, _FILE, "xid"):
        for code in row.codes:
            if code in found:
                raise TableError(f"{_FILE}: XID {code} stands in two rows")
            found[code] = row
    return found


@cache
def find_nvlinks(accelerator: str) -> NvLinks | None:
    """The NVLinks of an accelerator, or None where it may have any number (A100 is sold with and without)."""
    return next((row for row in listed_rows(NvLinks, _FILE, "nvlink") if accelerator in row.accelerators), None)


@cache
def find_hcas(*, fabric: str, accelerator: str, per_node: int) -> Hcas | None:
    """The adapters of exactly this machine, or None: then each of the named ones is looked for, and rates are compared."""
    for row in listed_rows(Hcas, _FILE, "hca"):
        if row.fabric == fabric and accelerator in row.accelerators and row.per_node == per_node:
            return row
    return None
