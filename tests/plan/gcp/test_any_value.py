"""Any value at any place of a good spec for Google Cloud: a plan, or problems in our words. Never a traceback."""

from typing import Any

from hypothesis import example, given, settings

from tests.plan.cloud_wishes import any_place
from tests.plan.gcp.wishes import ULTRA, WISHES, plan_of
from tests.spec.specs import with_value
from tests.spec.test_any_value import json_like

VPC = {"network": "shared", "subnetwork": "nodes", "pods_range": "pods", "services_range": "services"}
RAILS = [{"network": "second", "subnetwork": "second"}, *({"network": "rdma", "subnetwork": f"rail-{n}"} for n in range(8))]
MADE: dict[str, Any] = {
    **ULTRA,
    "tags": {"owner": "ml"},
    "network": {"cidr": "10.0.0.0/14", "mtu": 8896},
    "cluster": {
        "kubernetes_version": "1.35",
        "release_channel": "regular",
        "admin_principals": ["group:ml@example.com"],
        "system_nodes": {"machine_type": "e2-standard-4", "nodes": 2},
    },
    "node_groups": [
        {
            "name": "train",
            "machine_type": "a3-ultragpu-8g",
            "nodes": 4,
            "capacity": {"kind": "reservation", "id": "june", "block": "b-1", "placement_policy": "near"},
            "driver_version": "latest",
            "boot_disk_type": "hyperdisk-balanced",
            "boot_disk_gib": 300,
            "auto_repair": True,
        },
        {
            "name": "burst",
            "accelerators": "B200:8",
            "nodes": 2,
            "fabric_attachment": "dranet",
            "capacity": {"kind": "flex_start", "max_run_seconds": 3600},
            "preflight": {"image": "acme.example/cuda:12"},
        },
    ],
    "filesystems": {"data": {"size_gib": 36000}, "home": {"kind": "filestore", "size_gib": 1024, "tier": "zonal"}},
    "stores": {"weights": {"name": "acme-weights", "protect": False}},
}
FOUND: dict[str, Any] = {
    **{key: value for key, value in ULTRA.items() if key != "api_access"},
    "network": {"existing": {**VPC, "gpu_networks": {"a3-ultragpu-8g": RAILS}}},
    "cluster": {"existing": {"name": "shared", "location": "us-central1"}},
    "filesystems": {"data": {"existing": "training-data"}},
    "stores": {"weights": {"name": "acme-weights", "existing": True}},
}


def test_the_specs_are_good() -> None:
    for raw in (MADE, FOUND):
        assert plan_of(raw).parts.stores


@settings(max_examples=200, deadline=None)
@given(any_place(MADE, FOUND), json_like)
@example((MADE, ("zone",)), "us-central1-ai1a")
@example((MADE, ("network", "cidr")), "10.0.0.0/33")
@example((MADE, ("cluster", "kubernetes_version")), "1.99")
@example((MADE, ("cluster", "kubernetes_version")), "1.35.1-gke.999999999")
@example((MADE, ("node_groups", 0, "capacity", "id")), "projects/acme-capacity/reservations/june")
@example((MADE, ("node_groups", 0, "boot_disk_type")), "")
@example((MADE, ("node_groups", 0, "nodes")), 5000)
@example((MADE, ("filesystems", "data", "size_gib")), 10**400)
@example((MADE, ("filesystems",)), {"Data Set": {"size_gib": 36000}})
@example((MADE, ("tags",)), {"Owner": "ml"})
@example((FOUND, ("network", "existing", "gpu_networks")), {"a3-ultragpu-8g": RAILS[:8]})
@example((FOUND, ("network", "existing", "gpu_networks")), {"p5.48xlarge": RAILS})
def test_any_value_at_any_place_of_a_good_spec(place: tuple[dict[str, Any], tuple[str | int, ...]], value: object) -> None:
    WISHES.read(with_value(*place, value))
