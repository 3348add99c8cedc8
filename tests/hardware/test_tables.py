"""The table format: every row strict, with its origin and its units."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from gpufabric.hardware import TableError, UnknownHardwareError, accelerators, fabrics
from gpufabric.hardware.accelerators import Accelerator
from gpufabric.hardware.baselines import Baseline, baselines
from gpufabric.hardware.bucket_drivers import BucketDriver
from gpufabric.hardware.closed_nodes import NeededDaemonSet
from gpufabric.hardware.control_plane import ControlPlaneTier, control_plane_tiers
from gpufabric.hardware.daemons import Daemon, daemons
from gpufabric.hardware.eks import EksVersion, eks_versions
from gpufabric.hardware.fabric_pods import FabricPod, fabric_pods
from gpufabric.hardware.fabrics import Fabric, machine_fabrics
from gpufabric.hardware.filestore import FilestoreBand, filestore_bands
from gpufabric.hardware.gke import GkeVersion, gke_fabrics, gke_limits, gke_minimums, gke_versions
from gpufabric.hardware.health import HealthCheck, health_checks, xids
from gpufabric.hardware.images import NcclTestsImage, nccl_tests_images
from gpufabric.hardware.local_nvme import NvmeModels, nvme_models
from gpufabric.hardware.lustre import LustreMetadata, LustreThroughput, lustre_metadata, lustre_throughputs
from gpufabric.hardware.machines import AwsMachine, GcpMachine, aws_machines, gcp_machines
from gpufabric.hardware.managed_lustre import ManagedLustreTier, managed_lustre_tiers
from gpufabric.hardware.memtest import MemtestLevel, memtest_levels
from gpufabric.hardware.prices import MachinePrice, machine_prices
from gpufabric.hardware.quotas import AwsQuota, GcpGpuQuota, aws_quotas, gcp_gpu_quotas
from gpufabric.hardware.rclone import MountPreset, RcloneImage
from gpufabric.hardware.storage import (
    NodeDisks,
    StorageBackend,
    StoragePrice,
    node_disks,
    storage_backends,
    storage_prices,
)
from gpufabric.hardware.tables import KINDS, Provenance, Row, load, named_rows

TABLES: dict[str, type[Row]] = {
    "accelerators.toml": Accelerator,
    "baselines.toml": Baseline,
    "closed_nodes.toml": NeededDaemonSet,
    "eks.toml": EksVersion,
    "fabric_pods.toml": FabricPod,
    "fabrics.toml": Fabric,
    "gke.toml": GkeVersion,
    "health.toml": HealthCheck,
    "images.toml": NcclTestsImage,
    "mount_presets.toml": MountPreset,
    "rclone.toml": RcloneImage,
    "memtest.toml": MemtestLevel,
    "daemons.toml": Daemon,
    "eks_tiers.toml": ControlPlaneTier,
    "fsx_lustre.toml": LustreThroughput,
    "filestore.toml": FilestoreBand,
    "fsx_metadata.toml": LustreMetadata,
    "bucket_drivers.toml": BucketDriver,
    "node_disks.toml": NodeDisks,
    "nvme_models.toml": NvmeModels,
    "prices_storage.toml": StoragePrice,
    "storage.toml": StorageBackend,
    "managed_lustre.toml": ManagedLustreTier,
    "machines_aws.toml": AwsMachine,
    "machines_gcp.toml": GcpMachine,
    "prices.toml": MachinePrice,
    "quotas_aws.toml": AwsQuota,
    "quotas_gcp.toml": GcpGpuQuota,
}
# A number's unit stands in its key, or it counts something that the key names.
UNITS = re.compile(r"(.*_)?(usd_per_hour|usd_per_gib_month|gb|gib|mib|bytes|gbytes_per_s|gbits_per_s|us|s)")
COUNTS = {"most_per_node", "per_node", "most_nodes", "pod_resources", "pod_resources_per_gpu"}
COUNTS |= {"accelerators", "fabric_devices", "interfaces_per_card", "local_disks", "network_cards", "vcpus"}  # of machines
COUNTS |= {"node_huge_pages_2mib"}  # of fabrics.toml
COUNTS |= {"first_interface"}  # of fabric_pods.toml
COUNTS |= {"most_errors", "links_per_gpu", "hcas_per_node", "codes"}  # of health.toml
COUNTS |= {"host_networks", "most_compact_nodes"}  # of gke.toml
COUNTS |= {"dcgm_level", "level"}  # numbers of DCGM's
COUNTS |= {"transfers", "upload_concurrency", "read_streams"}  # of mount_presets.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(Row):
    """A row as a test needs it: one required and two optional keys."""

    name: str
    size_gib: int = 0
    paths: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


ORIGIN = {"kind": "measured", "source": "a test", "as_of": "2026-11"}


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in TABLES:
        for name, raw in load(file).items():
            for position, each in enumerate(raw if isinstance(raw, list) else [raw]):
                yield f"{file}[{name}][{position}]", each


ROWS = dict(_rows())
every_row = pytest.mark.parametrize("raw", list(ROWS.values()), ids=ROWS)


def test_every_table_is_read_by_a_class() -> None:
    assert {path.name for path in files("gpufabric.hardware").joinpath("data").iterdir()} == TABLES.keys()


@every_row
def test_every_row_says_where_it_comes_from(raw: dict[str, Any]) -> None:
    assert raw["kind"] in KINDS
    assert len(raw["source"]) > 10, "a source that nobody can look up"
    assert re.fullmatch(r"20[2-9][0-9]-(0[1-9]|1[0-2])", raw["as_of"])


@every_row
def test_every_number_says_its_unit(raw: dict[str, Any]) -> None:
    for key, value in raw.items():
        holds = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if any(isinstance(each, int | float) and not isinstance(each, bool) for each in holds):
            assert key in COUNTS or UNITS.fullmatch(key), f"{key} has no unit"


def test_rows_hold_values_of_the_annotated_types() -> None:
    """Rows are read without a type check; a text where a number belongs would show only where it is used."""
    seen = 0
    of_health = (*health_checks().values(), *xids().values())
    of_clouds = (*daemons().values(), *control_plane_tiers().values(), *lustre_throughputs().values(), lustre_metadata())
    of_clouds = (*of_clouds, *aws_quotas().values(), *gcp_gpu_quotas().values(), *fabric_pods().values())
    of_clouds = (*of_clouds, *machine_fabrics().values(), *aws_machines().values(), *eks_versions().values(), *machine_prices())
    of_gke = [*gke_versions().values(), *gke_fabrics().values(), gke_limits(), *gke_minimums("gpudirect-tcpxo")]
    of_clouds = (*of_clouds, *gcp_machines().values(), *of_gke)
    of_clouds = (*of_clouds, *managed_lustre_tiers().values(), *filestore_bands("zonal"))
    of_clouds = (*of_clouds, *storage_backends().values(), *node_disks().values(), *nvme_models().values(), *storage_prices())
    of_health = (*of_health, *memtest_levels().values())
    of_all = (*accelerators().values(), *fabrics().values(), *nccl_tests_images().values(), *baselines())
    for row in (*of_all, *of_health, *of_clouds):
        for key, annotation in get_type_hints(type(row)).items():
            assert fits(getattr(row, key), annotation), f"{row}: {key}"
            seen += 1
    assert seen > 50


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of the type; a whole number is a float too, a truth value is no number."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin is tuple:
        each_of = (inner[0],) * len(value) if inner[1:] == (...,) else inner
        return type(value) is tuple and len(value) == len(each_of) and all(map(fits, value, each_of))
    if origin is Mapping:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    return type(value) in ((int, float) if annotation is float else (annotation,))


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("8", int),
        (True, int),
        ("8", float),
        (8, str),
        (["a"], tuple[str, ...]),
        ((1,), tuple[str, ...]),
        ((1.0,), tuple[float, float]),
        (8, str | None),
    ],
)
def test_the_type_check_finds_other_types(value: object, annotation: object) -> None:
    assert not fits(value, annotation)


def test_names_of_resources_are_those_of_kubernetes() -> None:
    asked = {row.pod_resource for row in accelerators().values() if row.pod_resource}
    for fabric in (*fabrics().values(), *machine_fabrics().values()):
        asked |= {*fabric.pod_resources, *fabric.pod_resources_per_gpu, *filter(None, [fabric.pod_resource_per_device])}
    assert asked >= {"nvidia.com/gpu", "rdma/ib", "vpc.amazonaws.com/efa"}
    of_plugins = asked - {"hugepages-2Mi"}  # Kubernetes' own
    assert all(re.fullmatch(r"[a-z0-9.-]+/[A-Za-z0-9._-]+", name) for name in of_plugins)


def test_a_complete_row_is_read() -> None:
    row = Disk.read({"name": "nvme", "size_gib": 3500, "paths": ["/a", "/b"], **ORIGIN}, "disks.toml[nvme]")
    assert row == Disk(name="nvme", size_gib=3500, paths=("/a", "/b"), provenance=Provenance("measured", "a test", "2026-11"))
    assert str(row.provenance) == "measured, a test, 2026-11"


@pytest.mark.parametrize("absent", ["kind", "source", "as_of"])
def test_a_number_without_origin_is_refused(absent: str) -> None:
    raw = {"name": "nvme", **{key: value for key, value in ORIGIN.items() if key != absent}}
    with pytest.raises(TableError) as caught:
        Disk.read(raw, "disks.toml[nvme]")
    assert str(caught.value) == f"disks.toml[nvme]: no {absent!r}; a number without its origin is no fact"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "guessed"}, "disks.toml[0]: kind 'guessed' is not one of vendor, measured, derived"),
        ({"source": ""}, "disks.toml[0]: source '' says nothing"),
        ({"as_of": "2026"}, "disks.toml[0]: as_of '2026' is not YYYY-MM"),
        ({"as_of": "2026-13"}, "disks.toml[0]: as_of '2026-13' is not YYYY-MM"),
        ({"sizegib": 1, "color": "red"}, "disks.toml[0]: unknown key color, sizegib"),
    ],
)
def test_a_bad_row_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(TableError) as caught:
        Disk.read({"name": "nvme", **ORIGIN, **change}, "disks.toml[0]")
    assert str(caught.value) == says


def test_a_missing_key_is_refused() -> None:
    with pytest.raises(TableError) as caught:
        Disk.read({"size_gib": 1, **ORIGIN}, "disks.toml[0]")
    assert str(caught.value) == "disks.toml[0]: missing name"


def test_the_error_of_a_table_names_file_and_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufabric.hardware.tables.load", lambda _: {"H900": {"title": "?", "most_per_node": 8}})
    with pytest.raises(TableError) as caught:
        named_rows(Accelerator, "accelerators.toml")
    assert str(caught.value) == "accelerators.toml[H900]: no 'kind'; a number without its origin is no fact"


def test_unknown_hardware_lists_what_is_known_and_the_nearest() -> None:
    near = UnknownHardwareError("disk", "nvmee", iter(["sata", "nvme"]))
    assert str(near) == "unknown disk 'nvmee' (did you mean 'nvme'?); known: nvme, sata"
    assert (near.what, near.name, near.known) == ("disk", "nvmee", ("nvme", "sata"))
    assert str(UnknownHardwareError("disk", "tape", ["nvme", "sata"])) == "unknown disk 'tape'; known: nvme, sata"
