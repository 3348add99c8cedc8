"""Google Kubernetes Engine: versions, what works from which version on, and the networks of a fabric's nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, listed_rows

_FILE = "gke.toml"
_NUMBERS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeVersion(Row):
    """A row ``[[version]]`` of ``data/gke.toml``."""

    kubernetes: str
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeMinimum(Row):
    """A row ``[[minimum]]``: from ``version`` on there is ``of`` in its minor version."""

    of: str
    version: str

    @property
    def minor(self) -> tuple[int, ...]:
        return version_numbers(self.version)[:2]

    def holds_for(self, version: str) -> bool:
        """Whether a version of the same minor has it. One that is written in part, such as ``1.35``, is its newest patch."""
        numbers, least = version_numbers(version), version_numbers(self.version)
        return numbers >= least[: len(numbers)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeFabric(Row):
    """A row ``[[fabric]]``, explained in the table's head."""

    fabric: str
    host_networks: int
    vpc_per_nic: bool
    network_profile: str = ""
    host_mtu_bytes: int
    gpu_mtu_bytes: int
    more_networks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeLimits(Row):
    """The row ``[[limits]]``."""

    most_compact_nodes: int
    longest_flex_run_s: int


def version_numbers(version: str) -> tuple[int, ...]:
    """``1.34.1-gke.1829001`` as (1, 34, 1, 1829001), so that versions compare."""
    return tuple(map(int, _NUMBERS.findall(version)))


@cache
def gke_versions() -> Mapping[str, GkeVersion]:
    """The versions that are known here, by the minor version."""
    return {row.kubernetes: row for row in listed_rows(GkeVersion, _FILE, "version")}


def default_gke_version() -> GkeVersion:
    """The version that a cluster gets when none is asked for."""
    return next(row for row in gke_versions().values() if row.default)


@cache
def _minimums() -> tuple[GkeMinimum, ...]:
    return tuple(listed_rows(GkeMinimum, _FILE, "minimum"))


def gke_minimums(of: str) -> tuple[GkeMinimum, ...]:
    """The rows of one thing, oldest first; none where it works with every version."""
    return tuple(sorted((row for row in _minimums() if row.of == of), key=lambda row: row.minor))


@cache
def gke_fabrics() -> Mapping[str, GkeFabric]:
    """How nodes get the networks of a fabric, by the fabric's name."""
    return {row.fabric: row for row in listed_rows(GkeFabric, _FILE, "fabric")}


@cache
def gke_limits() -> GkeLimits:
    """What GKE says of every node pool."""
    return next(listed_rows(GkeLimits, _FILE, "limits"))
