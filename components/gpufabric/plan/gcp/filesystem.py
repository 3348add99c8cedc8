"""Shared file systems on the grids that Google sells: Managed Lustre and Filestore."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from gpufabric.hardware.filestore import filestore_bands, nearest_filestore_sizes_gib
from gpufabric.hardware.managed_lustre import managed_lustre_tiers
from gpufabric.plan.gcp.names import name_problems
from gpufabric.plan.gcp.places import region_of
from gpufabric.plan.storage.parts import exists_problems
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp.storage import FilestoreWish, ManagedLustreWish

LUSTRE_DRIVER, FILESTORE_DRIVER = "lustre.csi.storage.gke.io", "filestore.csi.storage.gke.io"
LUSTRE_NAME, SHARE_NAME = "lustre", "share"
"""Names inside an instance: Lustre's takes at most eight letters and digits."""
LUSTRE_PORT = 988
_NAME_MOST = 63
_EXISTS = "the file system exists and has its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemPlan:
    """A file system: made as ``instance``, or found by ``existing``. ``location``: zone or region."""

    project: str
    location: str
    instance: str
    size_gib: int
    existing: str | None
    claim: str
    namespace: str
    protect: bool
    labels: Mapping[str, str]

    @property
    def path(self) -> str:
        """Full name of the instance."""
        return f"projects/{self.project}/locations/{self.location}/instances/{self.existing or self.instance}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedLustrePlan(FilesystemPlan):
    """A file system of Managed Lustre."""

    throughput_mbytes_per_s_per_tib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilestorePlan(FilesystemPlan):
    """An instance of Filestore. ``tier`` in the API's words."""

    tier: str


def plan_lustre(name: str, spec: ManagedLustreWish, *, handles: Set[str], at: str = "") -> ManagedLustrePlan:
    """The plan of Managed Lustre; raises :class:`SpecError` with the nearest legal sizes. ``handles``: those that are given."""
    if spec.existing:
        decided = {"size_gib", "throughput_mbytes_per_s_per_tib", "protect"} & spec.model_fields_set
        problems = exists_problems(decided | handles, _EXISTS)
    else:
        problems = [*_off_grid(spec), *_lacking(handles), *name_problems(name, "an instance", _NAME_MOST)]
    if problems:
        raise SpecError([problem.below(at) for problem in problems])
    return ManagedLustrePlan(
        project=spec.project,
        location=spec.zone,
        instance=name,
        size_gib=spec.size_gib or 0,
        throughput_mbytes_per_s_per_tib=spec.throughput_mbytes_per_s_per_tib,
        existing=spec.existing,
        claim=spec.claim,
        namespace=spec.namespace,
        protect=spec.protect,
        labels=spec.tags,
    )


def plan_filestore(name: str, spec: FilestoreWish, *, handles: Set[str], at: str = "") -> FilestorePlan:
    """The plan of Filestore; raises :class:`SpecError` with the nearest legal sizes. ``handles``: those that are given."""
    if spec.existing:
        problems = exists_problems(({"size_gib", "protect"} & spec.model_fields_set) | handles, _EXISTS)
    else:
        sizes = nearest_filestore_sizes_gib(spec.tier, spec.size_gib) if spec.size_gib else ()
        rule = str(filestore_bands(spec.tier)[0].provenance)
        problems = [
            *_size(spec.size_gib, sizes, f"Filestore sells no {{}} GiB as {spec.tier}", rule),
            *_lacking(handles),
            *name_problems(name, "an instance", _NAME_MOST),
        ]
    if problems:
        raise SpecError([problem.below(at) for problem in problems])
    return FilestorePlan(
        project=spec.project,
        location=region_of(spec.zone) if spec.tier == "regional" else spec.zone,
        instance=name,
        size_gib=spec.size_gib or 0,
        tier=filestore_bands(spec.tier)[0].api,
        existing=spec.existing,
        claim=spec.claim,
        namespace=spec.namespace,
        protect=spec.protect,
        labels=spec.tags,
    )


def _off_grid(spec: ManagedLustreWish) -> Iterator[Problem]:
    rows = managed_lustre_tiers()
    row = rows.get(spec.throughput_mbytes_per_s_per_tib)
    if row is None:
        reason = f"Managed Lustre sells no {spec.throughput_mbytes_per_s_per_tib} MB/s per TiB"
        yield Problem("throughput_mbytes_per_s_per_tib", reason, f"write one of {', '.join(map(str, sorted(rows)))}")
    sizes = row.nearest_sizes_gib(spec.size_gib) if row and spec.size_gib else ()
    rule = str(row.provenance) if row else ""
    yield from _size(
        spec.size_gib, sizes, f"Managed Lustre sells no {{}} GiB at {spec.throughput_mbytes_per_s_per_tib} MB/s per TiB", rule
    )


def _size(wanted: int | None, nearest: Sequence[int], reason: str, rule: str) -> Iterator[Problem]:
    if wanted is None:
        yield Problem("size_gib", "missing", "write the capacity in GiB, or existing: the name of one that is there")
    elif nearest and tuple(nearest) != (wanted,):
        yield Problem("size_gib", reason.format(wanted), f"write {' or '.join(map(str, nearest))}", rule)


def _lacking(handles: Set[str]) -> Iterator[Problem]:
    if "network" not in handles:
        yield Problem("network", "missing", "GcpNetwork yields it (network_id), with private_services: true")
