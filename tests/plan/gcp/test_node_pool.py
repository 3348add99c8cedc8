"""One node pool: machine, disks, driver, labels, its gate's group, and what is refused."""

import re
from typing import Any

import pytest

from gpufabric.hardware import GcpMachine, fabrics, gcp_machines, machine_fabrics
from gpufabric.plan.cloud import Taint
from gpufabric.plan.cloud_group import gate_group
from gpufabric.plan.gcp import LocalDisks, plan_alone
from gpufabric.spec import SpecError
from gpufabric.spec.gcp import GkeGpuNodesSpec
from gpufabric.spec.gcp.network import NodeNetwork
from tests.plan.gcp.wishes import NOW, ULTRA, group_of, plan_of, says, says_of_group, with_group
from tests.spec.specs import GONE, changed, problems
from tests.spec.specs import H100 as OWN_CLUSTER

BUILT = [row for row in gcp_machines().values() if not row.refusal]
with_fabric = pytest.mark.parametrize("machine", [row for row in BUILT if row.fabric], ids=lambda row: row.name)
without_fabric = pytest.mark.parametrize("machine", [row for row in BUILT if not row.fabric], ids=lambda row: row.name)
# From Google's table of GPU machines: GPUs, GPU type, local disks, fabric, and what they boot from.
MACHINES = {
    "a3-highgpu-8g": ("H100:8", "nvidia-h100-80gb", 16, "gpudirect-tcpx", "pd-ssd"),
    "a3-megagpu-8g": ("H100:8", "nvidia-h100-mega-80gb", 16, "gpudirect-tcpxo", "pd-ssd"),
    "a3-ultragpu-8g": ("H200:8", "nvidia-h200-141gb", 32, "gib", "hyperdisk-balanced"),
    "a4-highgpu-8g": ("B200:8", "nvidia-b200", 32, "gib", "hyperdisk-balanced"),
    "a2-ultragpu-8g": ("A100-80GB:8", "nvidia-a100-80gb", 8, "", "pd-ssd"),
    "g2-standard-24": ("L4:2", "nvidia-l4", 2, "", "pd-ssd"),
    "g2-standard-48": ("L4:4", "nvidia-l4", 4, "", "pd-ssd"),
    "g2-standard-96": ("L4:8", "nvidia-l4", 8, "", "pd-ssd"),
}


def test_every_machine_that_is_built_is_listed_here() -> None:
    assert {row.name for row in BUILT} == MACHINES.keys()


@with_fabric
def test_every_machine_with_a_fabric_is_planned(machine: GcpMachine) -> None:
    stack = plan_of(with_group(machine_type=machine.name, nodes=2))
    (group,), (gate,) = stack.node_groups, stack.groups
    holds, gpu_type, disks, fabric, boot = MACHINES[machine.name]
    assert (group.machine, group.machine.holds, group.machine.accelerator_type) == (machine, holds, gpu_type)
    assert group.local_disks == LocalDisks(disks, "ephemeral")
    assert (group.boot_disk_type, group.boot_disk_gib) == (boot, 200)
    assert group.labels == {"gpufabric.dev/node-group": "train", "gpufabric.dev/fabric": fabric}
    assert group.taints == (Taint("nvidia.com/gpu", "present"), Taint("gpufabric.dev/hold", ""))
    assert (group.attachment, group.image_type) == ("networks", "COS_CONTAINERD")
    assert gate.fabric.name == fabric
    assert gate.fabric.tier == "best"
    assert gate.gate.gate.expectation.transport_regex == machine_fabrics()[fabric].transport_regex
    assert len(stack.parts.network.gpu[machine.name]) == machine.fabric_devices + (fabric == "gib")


@without_fabric
def test_a_machine_without_fabric_is_asked_for_by_name(machine: GcpMachine) -> None:
    (line,) = says_of_group(machine_type=machine.name, nodes=2)
    assert line.startswith(
        f"network_tier: best (the default) asks for GPUDirect or RDMA; {machine.name} has none; write network_tier: standard ("
    )
    stack = plan_of(with_group(machine_type=machine.name, nodes=2, network_tier="standard"))
    (group,), (gate,) = stack.node_groups, stack.groups
    assert (group.attachment, gate.fabric.name) == (None, "ethernet")
    assert group.labels == {"gpufabric.dev/node-group": "train"}
    assert stack.parts.network.vpcs == ()
    assert gate.profile.fabric.resources == {"nvidia.com/gpu": machine.accelerators}


@with_fabric
def test_ethernet_can_be_asked_for_where_there_is_more(machine: GcpMachine) -> None:
    stack = plan_of(with_group(machine_type=machine.name, network_tier="standard"))
    assert stack.groups[0].fabric.name == "ethernet"
    assert stack.parts.network.vpcs == ()


def test_disks_are_said_though_they_come_with_the_machine() -> None:
    """Unsaid, each update wants to replace the nodes (terraform-provider-google issue 19648)."""
    assert group_of(disk_tier="network").local_disks == LocalDisks(32, "block")
    assert group_of(machine_type="g2-standard-96", network_tier="standard", disk_tier="network").local_disks is None
    assert group_of(machine_type="g2-standard-96", network_tier="standard").local_disks == LocalDisks(8, "ephemeral")


def test_the_driver_is_the_machines() -> None:
    assert group_of().driver_version == "DEFAULT"
    assert group_of(machine_type="a4-highgpu-8g").driver_version == "LATEST"
    assert group_of(machine_type="a4-highgpu-8g", driver_version="default").driver_version == "DEFAULT"
    assert group_of(driver_version="disabled").driver_version == "INSTALLATION_DISABLED"


def test_dranet_takes_the_place_of_networks() -> None:
    stack = plan_of(with_group(fabric_attachment="dranet"))
    (group,), (gate,) = stack.node_groups, stack.groups
    assert group.attachment == "dranet"
    assert group.labels["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert stack.parts.network.vpcs == (), "GKE makes them"
    assert gate.fabric.claims
    assert not {key for key in gate.profile.fabric.annotations if "interfaces" in key}


def test_accelerators_alone_choose_the_only_machine() -> None:
    assert group_of(machine_type=GONE, accelerators="H200:8").machine.name == "a3-ultragpu-8g"
    assert group_of(machine_type=GONE, accelerators="B200:8").machine.name == "a4-highgpu-8g"
    assert group_of(accelerators="H200:8").machine.name == "a3-ultragpu-8g"


def test_the_gate_sees_the_same_group() -> None:
    assert gate_group(group_of()).model_dump(exclude_none=True) == {
        "name": "train",
        "node_selector": {"gpufabric.dev/node-group": "train"},
        "accelerators": "H200:8",
        "nodes": 4,
        "network_tier": "best",
        "machine_type": "a3-ultragpu-8g",
    }
    queued = gate_group(group_of(capacity={"kind": "queued"}, fabric_attachment="dranet"))
    assert (queued.fabric_attachment, queued.tolerates) == ("dranet", ["cloud.google.com/gke-queued"])
    assert queued.preflight is not None


def test_the_cost_is_the_tables() -> None:
    assert plan_of(with_group(nodes=2)).cost.usd_per_hour == round(2 * 83.492, 2)
    assert plan_of(with_group(nodes=2, capacity={"kind": "spot"})).cost.usd_per_hour == round(2 * 50.0856, 2)
    assert plan_of(with_group(nodes=2, capacity={"kind": "reservation", "id": "r"})).cost.usd_per_hour == round(2 * 83.492, 2)
    flex = plan_of(with_group(nodes=2, capacity={"kind": "flex_start"})).cost
    assert flex.usd_per_hour is None, "it is cheaper than on demand, by how much no list says"
    assert plan_of(with_group(machine_type="a4-highgpu-8g")).cost.usd_per_hour is None


REFUSED = "a3-highgpu-8g, a3-megagpu-8g, a3-ultragpu-8g, a4-highgpu-8g, a2-ultragpu-8g, g2-standard-24, .*"
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown machine": (
        {"machine_type": "a3-ultragpu-16g"},
        r"machine_type: unknown machine 'a3-ultragpu-16g' \(did you mean 'a3-ultragpu-8g'\?\); known: a2-.*; write one .*",
    ),
    "a machine of AWS": ({"machine_type": "p5.48xlarge"}, r"machine_type: unknown machine 'p5.48xlarge'; known: a2-ultra.*"),
    "an NVLink domain": (
        {"machine_type": "a4x-highgpu-4g"},
        rf"machine_type: a4x-highgpu-4g is not built: its 18 machines of an NVLink domain need .*; write one of {REFUSED}",
    ),
    "a bare metal machine": (
        {"machine_type": "a4x-maxgpu-4g-metal"},
        r"machine_type: a4x-maxgpu-4g-metal is not built: a bare metal machine .*",
    ),
    "accelerators that several have": (
        {"machine_type": GONE, "accelerators": "H100:8"},
        r"machine_type: missing: several machines hold H100:8; write one of a3-highgpu-8g, a3-megagpu-8g",
    ),
    "accelerators that none has": (
        {"machine_type": GONE, "accelerators": "H100:4"},
        r"accelerators: no machine of Google Cloud that is known here holds H100:4; write one of H100:8, H200:8, .*",
    ),
    "neither": (
        {"machine_type": GONE},
        r"machine_type: missing; write a machine such as a3-highgpu-8g, or accelerators: H100:8",
    ),
    "accelerators of another machine": (
        {"accelerators": "H100:8"},
        r"accelerators: a3-ultragpu-8g holds H200:8, not H100:8; write H200:8, or leave it out \(vendor, .*\)",
    ),
    "a persistent disk where it does not boot": (
        {"boot_disk_type": "pd-ssd"},
        (
            r"boot_disk_type: a3-ultragpu-8g does not boot from pd-ssd; leave it out, or write hyperdisk-balanced "
            r"\(vendor, .*\)"
        ),
    ),
    "a hyperdisk where it does not boot": (
        {"machine_type": "a3-megagpu-8g", "boot_disk_type": "hyperdisk-balanced"},
        r"boot_disk_type: a3-megagpu-8g does not boot from hyperdisk-balanced; leave it out, or write pd-ssd or pd-balanced .*",
    ),
    "too small a boot disk": ({"boot_disk_gib": 10}, r"boot_disk_gib: 10 is out of range; write a number from 50 up"),
    "a driver by its number": (
        {"driver_version": "580"},
        r"driver_version: '580' is not a choice here; write default, latest or disabled",
    ),
    "dranet on Ethernet": (
        {"fabric_attachment": "dranet", "network_tier": "standard"},
        (
            r"fabric_attachment: dranet gives pods the fabric's cards; network_tier: standard asks for Ethernet; "
            r"leave it out"
        ),
    ),
    "dranet where no class is known": (
        {"fabric_attachment": "dranet", "machine_type": "a3-megagpu-8g"},
        r"fabric_attachment: no device class .* is known for gpudirect-tcpxo \(a3-megagpu-8g\), only for gib; write .*",
    ),
    "taints, which are ours": ({"taints": []}, r"taints: unknown key; known keys: .*"),
    "an image of its own": ({"image_type": "UBUNTU_CONTAINERD"}, r"image_type: unknown key; .*"),
    "no nodes": ({"nodes": 0}, r"nodes: 0 is out of range; write a number from 1 up"),
    "a name that is too long": ({"name": "training-of-the-big-model"}, r"name: 'training-of-the-big-model' cannot be part .*"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_group_is_answered_with_one_line(case: str) -> None:
    changes, pattern = BAD[case]
    (line,) = says_of_group(**changes)
    assert re.fullmatch(pattern, line), line


def test_a_zone_of_another_region() -> None:
    lines = says({**ULTRA, "zone": "us-east4-a"})
    assert lines == ["zone: us-east4-a is not in us-central1; write a zone such as us-central1-a"]


def test_problems_of_all_groups_come_together() -> None:
    groups = [
        {"name": "a", "machine_type": "a5-highgpu-8g", "nodes": 2},
        {"name": "b", "machine_type": "a4-highgpu-8g", "nodes": 2, "boot_disk_type": "pd-ssd"},
        {"name": "c", "machine_type": "a3-megagpu-8g", "nodes": 2, "capacity": {"kind": "spot", "id": "r"}},
    ]
    lines = says({**ULTRA, "node_groups": groups, "zone": "us-east4-a"})
    assert [line.split(":")[0] for line in lines] == [
        "zone",
        "node_groups[0].machine_type",
        "node_groups[1].boot_disk_type",
        "node_groups[2].capacity.id",
    ]


def test_on_a_cluster_of_ones_own_a_machine_without_fabric_has_ethernet() -> None:
    group = {"group__fabric": GONE, "group__machine_type": "g2-standard-96", "group__accelerators": "L4:8"}
    slow = changed(OWN_CLUSTER, **group, group__network_tier="standard", validation__floor_gbytes_per_s=1.0)
    assert problems(slow) == []
    (line,) = problems(changed(OWN_CLUSTER, **group, validation__floor_gbytes_per_s=1.0))
    assert line.startswith("node_groups[0].network_tier: best (the default) asks for GPUDirect or RDMA; ethernet has none; ")
    assert "ethernet" in fabrics()


# --- a node pool alone

ALONE: dict[str, Any] = {
    "name": "train",
    "project": "acme-training",
    "zone": "us-central1-a",
    "machine_type": "a3-megagpu-8g",
    "nodes": 2,
}


def networks(count: int) -> list[NodeNetwork]:
    return [NodeNetwork(network=f"vpc-{position}", subnetwork=f"nodes-{position}") for position in range(count)]


RDMA = [
    NodeNetwork(network="second", subnetwork="second"),
    *(NodeNetwork(network="rdma", subnetwork=f"rail-{rail}") for rail in range(8)),
]


def alone(given: list[NodeNetwork], **changes: Any) -> list[str]:
    """The lines for a node pool in a stack of one's own; none for a good one."""
    wish = {key: value for key, value in {**ALONE, **changes}.items() if value is not GONE}
    try:
        plan_alone(
            GkeGpuNodesSpec.parse(wish, "pool"), now=NOW, path="pool", handles={"cluster_name", "location"}, networks=given
        )
    except SpecError as error:
        return [str(problem).removeprefix("pool.") for problem in error.problems]
    return []


@pytest.mark.parametrize("count", [0, 1, 4, 7, 9, 16])
def test_mega_takes_eight_networks_and_no_other_number(count: int) -> None:
    """With nine, one takes the PCI slot of a card, and a GPU is without network (container-engine-accelerators issue 580)."""
    (line,) = alone(networks(count))
    assert line.startswith(f"additional_networks: {count} networks; a3-megagpu-8g needs 8")
    assert alone(networks(8)) == []


def test_high_takes_four_networks_or_more() -> None:
    high = {"machine_type": "a3-highgpu-8g"}
    assert alone(networks(4), **high) == alone(networks(5), **high) == []
    (line,) = alone(networks(3), **high)
    assert line.startswith("additional_networks: 3 networks; a3-highgpu-8g needs at least 4; ")


@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_rdma_takes_the_second_card_of_the_host_first(machine: str) -> None:
    assert alone(RDMA, machine_type=machine) == []
    (line,) = alone(RDMA[1:], machine_type=machine)
    assert line.startswith(f"additional_networks: 8 networks; {machine} needs 9; list the one of the host's second card, then ")


def test_networks_where_there_is_nothing_to_attach() -> None:
    dranet = {"machine_type": "a3-ultragpu-8g", "fabric_attachment": "dranet"}
    assert alone([], **dranet) == []
    assert alone(RDMA, **dranet) == [
        "additional_networks: 9 networks; with fabric_attachment: dranet GKE makes the networks; leave them out"
    ]
    assert alone(networks(8), network_tier="standard") == [
        "additional_networks: 8 networks; Ethernet has the cluster's own alone; leave them out"
    ]


def test_the_profile_is_of_the_zone_of_the_nodes() -> None:
    ultra = {"machine_type": "a3-ultragpu-8g"}
    assert alone(RDMA, **ultra, network_profile="us-central1-a-vpc-roce") == []
    (line,) = alone(RDMA, **ultra, network_profile="us-central1-b-vpc-roce")
    assert line.startswith(
        "network_profile: us-central1-b-vpc-roce is not the profile of a3-ultragpu-8g in us-central1-a: RDMA does not cross "
        "zones; write us-central1-a-vpc-roce ("
    )
    (line,) = alone(RDMA, **ultra, network_profile="us-central1-a-vpc-falcon")
    assert line.startswith("network_profile: us-central1-a-vpc-falcon is not the profile of a3-ultragpu-8g in us-central1-a")
    (line,) = alone(networks(8), network_profile="us-central1-a-vpc-roce")
    assert line == "network_profile: a3-megagpu-8g has no RDMA: its networks have no profile; leave it out"


def test_the_version_is_that_of_the_cluster() -> None:
    assert alone(networks(8), kubernetes_version="1.32.11-gke.1174000") == []
    (line,) = alone(networks(8), kubernetes_version="1.32.4-gke.1767000")
    assert line.startswith(
        "kubernetes_version: gpudirect-tcpxo works from 1.32.11-gke.1174000 on; 1.32.4-gke.1767000 is older; "
    )
    (line,) = alone(networks(8), kubernetes_version="1.22")
    assert line.startswith("kubernetes_version: unknown Kubernetes version of GKE '1.22'")


def test_a_pool_needs_its_cluster() -> None:
    wish = GkeGpuNodesSpec.parse({**ALONE, "boot_disk_type": "hyperdisk-balanced"}, "pool")
    with pytest.raises(SpecError) as caught:
        plan_alone(wish, now=NOW, path="pool", handles=set())
    assert [problem.path for problem in caught.value.problems] == ["pool.cluster_name", "pool.location", "pool.boot_disk_type"]
