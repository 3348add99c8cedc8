"""A Lustre file system on the grid that AWS sells."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from gpufabric.hardware.lustre import lustre_metadata, lustre_throughputs
from gpufabric.plan.storage.parts import exists_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws.storage import FsxLustreWish

LNET_PORTS: Sequence[tuple[int, int]] = ((988, 988), (1018, 1023))
"""TCP ports between file system and clients, both ways (FSx for Lustre guide, Creating an FSx for Lustre file system fails)."""
DRIVER = "fsx.csi.aws.com"
ADDON = "aws-fsx-csi-driver"
_GRID = "FSx API model and FSx for Lustre guide, 2026-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class LustrePlan:
    """A file system: made, or found by ``existing``. ``create_minutes``: how long AWS may take."""

    size_gib: int
    throughput_mbytes_per_s_per_tib: int
    efa: bool
    metadata_ops_per_s: int | None
    existing: str | None
    claim: str
    namespace: str
    driver: bool
    protect: bool
    tags: Mapping[str, str]

    @property
    def traffic(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What servers and nodes let through to each other: everything with EFA, which has no ports, else Lustre's ports."""
        if self.efa:
            return [("all", {"ip_protocol": "-1"})]
        return [(f"{first}", {"ip_protocol": "tcp", "from_port": first, "to_port": last}) for first, last in LNET_PORTS]

    @property
    def create_minutes(self) -> int:
        """The provider's own half hour is known to be too short for large ones (terraform-provider-aws issue 40568)."""
        return 60 + self.size_gib // 4800


def plan_filesystem(spec: FsxLustreWish, *, handles: Set[str] | None = None, at: str = "") -> LustrePlan:
    """The plan of a file system; raises :class:`SpecError` with the nearest legal numbers.

    ``handles``: the keys of ids that a component was given; None where the stack gives them all.
    """
    decided = {"size_gib", "throughput_mbytes_per_s_per_tib", "efa", "metadata_ops_per_s"} & spec.model_fields_set
    shape = exists_problems(decided, "the file system exists and has its own") if spec.existing else _off_grid(spec)
    problems = [*shape, *_handles(spec, handles)]
    if problems:
        raise SpecError([problem.below(at) for problem in problems])
    return LustrePlan(
        size_gib=spec.size_gib or 0,
        throughput_mbytes_per_s_per_tib=spec.throughput_mbytes_per_s_per_tib,
        efa=spec.efa,
        metadata_ops_per_s=spec.metadata_ops_per_s,
        existing=spec.existing,
        claim=spec.claim,
        namespace=spec.namespace,
        driver=spec.driver,
        protect=spec.protect,
        tags=spec.tags,
    )


def _handles(spec: FsxLustreWish, given: Set[str] | None) -> Iterator[Problem]:
    if given is None:
        return
    where = {"vpc_id", "subnet_id", "client_security_group_id"}
    if spec.existing:
        for key in sorted(where & given):
            yield Problem(key, "the file system exists and has its place", "leave it out")
    for key in sorted((set() if spec.existing else where) | ({"cluster_name"} if spec.driver else set())):
        if key not in given:
            yield Problem(key, "missing", "driver: false needs no cluster" if key == "cluster_name" else "this key is required")


def _off_grid(spec: FsxLustreWish) -> Iterator[Problem]:
    rows = lustre_throughputs()
    row = rows.get(spec.throughput_mbytes_per_s_per_tib)
    if row is None:
        offered = ", ".join(map(str, sorted(rows)))
        reason = f"FSx sells no {spec.throughput_mbytes_per_s_per_tib} MB/s per TiB"
        yield Problem("throughput_mbytes_per_s_per_tib", reason, f"write one of {offered}", _GRID)
    if spec.size_gib is None:
        yield Problem("size_gib", "missing", "write the capacity in GiB, or existing: fs-... for one that is there")
    elif row:
        nearest = row.nearest_sizes_gib(spec.size_gib, efa=spec.efa)
        if nearest != (spec.size_gib,):
            kind = "with EFA " if spec.efa else ""
            reason = f"FSx sells no {spec.size_gib} GiB {kind}at {row.throughput_mbytes_per_s} MB/s per TiB"
            fix = f"write {' or '.join(map(str, nearest))}"
            small = "; efa: false takes smaller steps" if spec.efa else ""
            yield Problem("size_gib", reason, fix + small, _GRID)
    wanted = spec.metadata_ops_per_s
    if wanted is not None and lustre_metadata().nearest_ops_per_s(wanted) != (wanted,):
        nearest = lustre_metadata().nearest_ops_per_s(wanted)
        reason = f"FSx sells no {wanted} metadata operations per second"
        yield Problem("metadata_ops_per_s", reason, f"write {' or '.join(map(str, nearest))}", _GRID)
