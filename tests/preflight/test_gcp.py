"""The preflight of Google Cloud against a stand-in of its APIs: a good project is silent, what is wrong is one line."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.plan.gcp.wishes import ULTRA, with_group
from tests.preflight.google_project import (
    CLUSTER,
    CLUSTERS,
    H200,
    HERE,
    IN_REGION,
    JUNE,
    MACHINE,
    OF_PROJECT,
    OF_REGION,
    PROFILES,
    PROJECT,
    SERVER_CONFIG,
    ULTRA_TYPE,
    Project,
    quotas,
    reserve,
    says,
)

RESERVED = with_group(capacity={"kind": "reservation", "id": "june"})
BLOCK = with_group(capacity={"kind": "reservation", "id": "june", "block": "b-1"})
SHARED = with_group(capacity={"kind": "reservation", "id": "projects/acme-capacity/reservations/june"})
STORES: dict[str, Any] = {**ULTRA, "stores": {"weights": {"name": "acme-weights"}}}
THEIRS: dict[str, Any] = {**ULTRA, "stores": {"weights": {"name": "acme-weights", "existing": True}}}


def test_a_good_project_is_silent(project: Project) -> None:
    reserve(project)
    for raw in (ULTRA, RESERVED, STORES):
        assert says(raw, project) == []


Case = tuple[dict[str, Any], Callable[[Project], Any], list[str]]
CASES: dict[str, Case] = {
    "an API that is off": (
        {**ULTRA, "filesystems": {"home": {"kind": "filestore", "size_gib": 1024}}},
        lambda project: project.switch_off("file"),
        [
            (
                "project: file.googleapis.com is off in acme-training; "
                "gcloud services enable file.googleapis.com --project acme-training"
            )
        ],
    ),
    "a zone that is not there": (
        ULTRA,
        lambda project: project.lose(HERE),
        ["zone: Google has no zone us-central1-a for acme-training; check the zone"],
    ),
    "a zone that is down": (
        ULTRA,
        lambda project: project.hold(HERE, status="DOWN"),
        ["zone: us-central1-a is DOWN; wait, or write another zone"],
    ),
    "a zone without the machine": (
        ULTRA,
        lambda project: (
            project.lose(MACHINE)
            .hold(f"projects/{PROJECT}/zones/us-central1-b/machineTypes/a3-ultragpu-8g", **ULTRA_TYPE)
            .hold(f"projects/{PROJECT}/zones/us-east4-b/machineTypes/a3-ultragpu-8g", **ULTRA_TYPE)
        ),
        ["node_groups[0].machine_type: Google does not offer a3-ultragpu-8g in us-central1-a; write zone: us-central1-b"],
    ),
    "a region without the machine": (
        ULTRA,
        lambda project: project.lose(MACHINE).hold(
            f"projects/{PROJECT}/zones/us-east4-b/machineTypes/a3-ultragpu-8g", **ULTRA_TYPE
        ),
        [
            (
                "node_groups[0].machine_type: Google does not offer a3-ultragpu-8g in us-central1-a; "
                "no zone of us-central1 has it; us-east4 has"
            )
        ],
    ),
    "a zone without the GPU": (
        ULTRA,
        lambda project: project.lose(f"{HERE}/acceleratorTypes/{H200}"),
        [
            (
                "node_groups[0].machine_type: us-central1-a has a3-ultragpu-8g and no nvidia-h200-141gb, which GKE asks for "
                "beside it; write another zone"
            )
        ],
    ),
    "a machine that is other than the table says": (
        ULTRA,
        lambda project: project.hold(MACHINE, **{**ULTRA_TYPE, "bundledLocalSsds": {"partitionCount": 16}}),
        [
            (
                "node_groups: Google's a3-ultragpu-8g has 16 local disks, our table says 8 nvidia-h200-141gb and 32 local "
                "disks; do not deploy with this release; report it"
            )
        ],
    ),
    "a zone without RDMA": (
        ULTRA,
        lambda project: (
            project.lose(f"{PROFILES}/us-central1-a-vpc-roce")
            .hold(f"{PROFILES}/us-central1-b-vpc-roce")
            .hold(f"{PROFILES}/us-central1-c-vpc-falcon")
        ),
        [
            (
                "zone: us-central1-a has no network profile us-central1-a-vpc-roce: there is no RDMA; "
                "write zone: us-central1-b (Google's VPC documentation, RDMA network profiles)"
            )
        ],
    ),
    "a small quota of GPUs": (
        ULTRA,
        lambda project: project.gpu_quota("GPUS-PER-GPU-FAMILY-per-project-region", {"gpu_family": "NVIDIA_H200"}, 16),
        [
            (
                "node_groups: 32 GPUs are asked for; the quota GPUS-PER-GPU-FAMILY-per-project-region of NVIDIA_H200 is 16 in "
                "us-central1; ask Google for more (IAM & Admin, Quotas), which takes days"
            )
        ],
    ),
    "a quota of other GPUs, or of another region": (
        ULTRA,
        lambda project: project.gpu_quota("GPUS-PER-GPU-FAMILY-per-project-region", {"gpu_family": "NVIDIA_H100"}, 64),
        [
            (
                "node_groups: 32 GPUs are asked for; the quota GPUS-PER-GPU-FAMILY-per-project-region of NVIDIA_H200 is 0 in "
                "us-central1; ask Google for more (IAM & Admin, Quotas), which takes days"
            )
        ],
    ),
    "no quota of preemptible GPUs for spot": (
        with_group(capacity={"kind": "spot"}),
        lambda project: project.gpu_quota("PREEMPTIBLE-NVIDIA-H200-GPUS-per-project-region", {}, 8),
        [
            (
                "node_groups: 32 GPUs are asked for; the quota PREEMPTIBLE-NVIDIA-H200-GPUS-per-project-region is 8 in "
                "us-central1; ask Google for more (IAM & Admin, Quotas), which takes days"
            )
        ],
    ),
    "nodes of flex-start count as preemptible": (
        with_group(capacity={"kind": "flex_start"}),
        lambda project: project.gpu_quota("PREEMPTIBLE-NVIDIA-H200-GPUS-per-project-region", {}, 0),
        [
            (
                "node_groups: 32 GPUs are asked for; the quota PREEMPTIBLE-NVIDIA-H200-GPUS-per-project-region is 0 in "
                "us-central1; ask Google for more (IAM & Admin, Quotas), which takes days"
            )
        ],
    ),
    "small quotas of region and project": (
        ULTRA,
        lambda project: project.hold(
            f"projects/{PROJECT}", quotas=quotas(**{**OF_PROJECT, "NETWORKS": (5, 4), "GPUS_ALL_REGIONS": (8, 0)})
        ).hold(IN_REGION, quotas=quotas(**{**OF_REGION, "CPUS": (10, 4), "HDB_TOTAL_GB": (500, 0)})),
        [
            (
                "node_groups: 32 are asked for; the quota GPUS_ALL_REGIONS is 8 in acme-training; "
                "ask Google for more (IAM & Admin, Quotas), which takes days"
            ),
            (
                "node_groups: 800 are asked for; the quota HDB_TOTAL_GB is 500 in us-central1; "
                "ask Google for more (IAM & Admin, Quotas), which takes days"
            ),
            (
                "cluster.system_nodes: 8 are asked for, and 4 are in use; the quota CPUS is 10 in us-central1; "
                "ask Google for more (IAM & Admin, Quotas), which takes days"
            ),
            (
                "network: 3 are asked for, and 4 are in use; the quota NETWORKS is 5 in acme-training; "
                "ask Google for more (IAM & Admin, Quotas), which takes days"
            ),
        ],
    ),
    "system nodes that the zone lacks": (
        ULTRA,
        lambda project: project.lose(f"{HERE}/machineTypes/e2-standard-4"),
        ["cluster.system_nodes.machine_type: Google does not offer e2-standard-4 in us-central1-a; write another one"],
    ),
    "a version that the channel lacks": (
        {**ULTRA, "cluster": {"kubernetes_version": "1.33"}},
        lambda project: None,
        [
            (
                "cluster.kubernetes_version: GKE offers no 1.33 in the channel regular of us-central1; it has 1.34, 1.35; "
                "write one of these, in quotes"
            )
        ],
    ),
    "a version of another channel": (
        ULTRA,
        lambda project: project.put(
            "container",
            SERVER_CONFIG,
            {
                "channels": [
                    {"channel": "REGULAR", "validVersions": ["1.34.1-gke.1829001"]},
                    {"channel": "RAPID", "validVersions": ["1.35.3-gke.1000000"]},
                ]
            },
        ),
        [
            (
                "cluster.kubernetes_version: GKE offers no 1.35 in the channel regular of us-central1; it has 1.34; "
                "write release_channel: rapid"
            )
        ],
    ),
    "a channel whose patches are too old for the fabric": (
        {**with_group(fabric_attachment="dranet"), "cluster": {"kubernetes_version": "1.34"}},
        lambda project: project.put(
            "container", SERVER_CONFIG, {"channels": [{"channel": "REGULAR", "validVersions": ["1.34.0-gke.2000000"]}]}
        ),
        [
            (
                "cluster.kubernetes_version: dranet works from 1.34.1-gke.1829001 on; 1.34.0-gke.2000000 is older; "
                "write a newer version, or leave it out"
            )
        ],
    ),
    "a reservation that is not there": (
        RESERVED,
        lambda project: None,
        ["node_groups[0].capacity.id: acme-training has no reservation june; check its name, and whose project has it"],
    ),
    "a reservation of another zone": (
        RESERVED,
        lambda project: reserve(project, f"projects/{PROJECT}/zones/us-central1-c/reservations/june"),
        ["zone: june is in us-central1-c, the stack in us-central1-a; write zone: us-central1-c"],
    ),
    "a reservation of another machine, too small, for anybody, not ready": (
        RESERVED,
        lambda project: reserve(
            project, machine="a3-megagpu-8g", count=2, specificReservationRequired=False, status="CREATING"
        ),
        [
            "node_groups[0].capacity.id: june is CREATING; wait until it is READY, or name another one",
            (
                "node_groups[0].capacity.id: june serves any machine that fits: none can ask for it by name; "
                "make one with --require-specific-reservation (Compute Engine, Consume a specific reservation)"
            ),
            (
                "node_groups[0].machine_type: june holds a3-megagpu-8g, the group asks for a3-ultragpu-8g; "
                "write a3-megagpu-8g, or name another reservation"
            ),
            "node_groups[0].nodes: june holds 2 instances, the group asks for 4; write at most 2",
        ],
    ),
    "a reservation that others use": (
        RESERVED,
        lambda project: reserve(project, used=1),
        [
            (
                "node_groups[0].nodes: 3 of 4 instances of june are free, the group asks for 4; "
                "end what uses the others, or ask for fewer"
            )
        ],
    ),
    "a reservation for two groups": (
        {**RESERVED, "node_groups": [{**RESERVED["node_groups"][0], "name": name, "nodes": 3} for name in ("a", "b")]},
        reserve,
        ["node_groups: a and b ask june for 6 instances; it holds 4; ask for fewer"],
    ),
    "a reservation with a placement policy": (
        RESERVED,
        lambda project: reserve(project, resourcePolicies={"0": f"{IN_REGION}/resourcePolicies/near"}),
        [
            (
                "node_groups[0].capacity.placement_policy: june was made with the placement policy near: other machines get "
                "none of it; write near"
            )
        ],
    ),
    "a placement policy that the reservation lacks": (
        with_group(capacity={"kind": "reservation", "id": "june", "placement_policy": "near"}),
        reserve,
        ["node_groups[0].capacity.placement_policy: june was made without a placement policy; leave it out"],
    ),
    "a placement policy that the project lacks": (
        with_group(capacity={"kind": "reservation", "id": "june", "placement_policy": "near"}),
        lambda project: reserve(project, resourcePolicies={"0": f"{IN_REGION}/resourcePolicies/near"}),
        [
            (
                "node_groups[0].capacity.placement_policy: acme-training has no placement policy near in us-central1; "
                "make it there: GKE takes policies of its own project and region"
            )
        ],
    ),
    "a block that the reservation lacks": (
        BLOCK,
        lambda project: reserve(project).hold(f"{JUNE}/reservationBlocks/b-2", count=4, inUseCount=0),
        ["node_groups[0].capacity.block: june has no block b-1; write one of b-2"],
    ),
    "a block that is too small": (
        BLOCK,
        lambda project: reserve(project).hold(f"{JUNE}/reservationBlocks/b-1", count=3, inUseCount=0),
        ["node_groups[0].nodes: b-1 holds 3 instances, the group asks for 4; write at most 3, or leave block out"],
    ),
    "a block that others use": (
        BLOCK,
        lambda project: reserve(project, count=8).hold(f"{JUNE}/reservationBlocks/b-1", count=4, inUseCount=2),
        [
            (
                "node_groups[0].nodes: 2 of 4 instances of b-1 are free, the group asks for 4; "
                "name another block, or end what uses the others"
            )
        ],
    ),
    "a reservation that its owner keeps": (
        SHARED,
        lambda project: reserve(project, "projects/acme-capacity/zones/us-central1-a/reservations/june"),
        [
            (
                "node_groups[0].capacity.id: acme-capacity does not share june with acme-training; "
                "ask its owner to share it, or name one of your own"
            )
        ],
    ),
    "a name that is taken": (
        STORES,
        lambda project: project.refuse("storage buckets.get", "x does not have storage.buckets.get access to the bucket."),
        ["stores.weights.name: acme-weights is taken: it is another project's bucket, or closed to you; choose another name"],
    ),
    "a bucket that an earlier stack left": (
        STORES,
        lambda project: project.hold("b/acme-weights", "storage"),
        [
            (
                "stores.weights.name: acme-weights is there already: buckets stay when a stack is destroyed; "
                "write existing: true, or choose another name; if this stack made it, all is well"
            )
        ],
    ),
    "a bucket that is not there": (
        THEIRS,
        lambda project: None,
        ["stores.weights.name: there is no bucket acme-weights; check the name, or leave existing out"],
    ),
    "a bucket without uniform access": (
        THEIRS,
        lambda project: project.hold("b/acme-weights", "storage"),
        [
            (
                "stores.weights.name: acme-weights has no uniform access: pods by workload identity fail to write to it (412); "
                "gcloud storage buckets update gs://acme-weights --uniform-bucket-level-access "
                "(Cloud Storage FUSE CSI driver, troubleshooting)"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str, project: Project) -> None:
    raw, happens, lines = CASES[case]
    happens(project)
    assert says(raw, project) == lines


def test_a_stack_that_runs_is_not_held_against_itself(project: Project) -> None:
    reserve(project, used=4)
    project.hold(f"projects/{PROJECT}", quotas=quotas(**{**OF_PROJECT, "NETWORKS": (5, 5)}))
    project.hold("b/acme-weights", "storage")
    raw = {**RESERVED, "stores": STORES["stores"]}
    assert len(says(raw, project)) == 3
    project.put("container", f"{CLUSTERS}/prod", {"name": "prod", **CLUSTER})
    project.put("container", f"{CLUSTERS}/prod/nodePools/prod-train-0123456", {"name": "prod-train-0123456"})
    assert says(raw, project) == []


def test_a_reservation_that_begins_later_is_not_checked(project: Project) -> None:
    later = with_group(capacity={"kind": "reservation", "id": "june", "starts_at": "2027-06-01T00:00:00Z"})
    assert says(later, project) == [
        "not checked: the reservation of train (june is not there yet: it begins later); look again when it has begun",
        "1 of 13 questions have no answer: `pulumi up` may still fail there",
    ]


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({"shareType": "SPECIFIC_PROJECTS", "projectMap": {PROJECT: {"projectId": PROJECT}}}, 0),
        ({"shareType": "ORGANIZATION"}, 0),
        ({"shareType": "SPECIFIC_PROJECTS", "projectMap": {"other": {"projectId": "other"}}}, 1),
        ({"shareType": "SPECIFIC_PROJECTS", "projectMap": {"1234": {"projectId": "1234"}}}, 2),  # not checked, and counted
    ],
)
def test_a_reservation_is_shared_with_the_project(settings: dict[str, Any], lines: int, project: Project) -> None:
    reserve(project, "projects/acme-capacity/zones/us-central1-a/reservations/june", shareSettings=settings)
    assert len(says(SHARED, project)) == lines
