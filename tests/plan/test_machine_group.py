"""A group of a cluster of one's own that names a cloud's machine: its pods ask for that machine's fabric, all of it."""

import re

import pytest

from gpufabric.hardware import aws_machines, find_baseline
from gpufabric.plan.merge import Merge
from tests.spec.specs import GONE, H100, changed, plan_of, problems

P5 = changed(H100, group__fabric=GONE, group__machine_type="p5.48xlarge")


def test_the_pods_ask_for_all_of_the_machines_devices() -> None:
    group = plan_of(P5).groups[0]
    assert group.profile.fabric.resources == {"nvidia.com/gpu": 8, "hugepages-2Mi": "5120Mi", "vpc.amazonaws.com/efa": 32}
    assert group.fabric.name == "efa-v2"
    health = group.gate.gate.health
    assert health is not None
    assert (health.hcas, health.hcas_per_node, health.hugepages_mib) == (("^mlx",), 32, 5120)


def test_the_ranks_run_in_the_tables_image_unless_another_one_is_named() -> None:
    group = plan_of(P5).groups[0]
    assert re.fullmatch(r"public\.ecr\.aws/hpc-cloud/nccl-tests:cuda[\w.-]+", group.gate.gate.image)
    assert plan_of(changed(P5, validation__rank_image="acme.example/nccl:2")).groups[0].gate.gate.image == "acme.example/nccl:2"


def test_the_baseline_is_the_machines() -> None:
    floor = plan_of(P5).groups[0].floor
    assert (floor.busbw_gbytes_per_s, floor.healthy_busbw_gbytes_per_s) == (420, (479, 479))


@pytest.mark.parametrize("name", [name for name, row in aws_machines().items() if not row.refusal and row.accelerators == 8])
def test_a_baseline_speaks_of_the_machines_fabric_or_a_floor_is_asked_for(name: str) -> None:
    row = aws_machines()[name]
    known = find_baseline(fabric=row.fabric, accelerator=row.accelerator, per_node=8, nodes=2, collective="all_reduce")
    found = problems(changed(P5, group__machine_type=name, group__accelerators=f"{row.accelerator}:8"))
    assert found == [] if known else found[0].startswith("validation.floor_gbytes_per_s: no baseline is known for 2 nodes")


def test_without_a_size_the_baselines_own_is_measured() -> None:
    """The figure of p6-b300 was measured at 16G; held to it at 8G a healthy group could fail."""
    b300 = changed(P5, group__machine_type="p6-b300.48xlarge", group__accelerators="B300:8")
    assert plan_of(b300).groups[0].gate.gate.expectation.max_bytes == 16 << 30
    (smaller,) = problems(changed(b300, validation__max_size="8G"))
    assert smaller.startswith("validation.max_size: the baseline of node_groups[0] holds for messages of 16G, not of 8G; ")


def test_what_contradicts_the_machine_is_said() -> None:
    (twice,) = problems(changed(H100, group__machine_type="p5.48xlarge"))
    assert twice == "node_groups[0].fabric: fabric and machine_type say the same thing twice; keep one of them"
    (other,) = problems(changed(P5, group__accelerators="H100:4"))
    assert other.startswith("node_groups[0].accelerators: p5.48xlarge holds H100:8, not H100:4; write H100:8 (vendor, ")
    (unknown,) = problems(changed(P5, group__machine_type="p5.49xlarge"))
    assert unknown.startswith(
        "node_groups[0].machine_type: unknown machine 'p5.49xlarge' (did you mean 'p5.4xlarge'?); known: "
    )
    (slower,) = problems(changed(P5, group__network_tier="standard"))
    assert slower.startswith("node_groups[0].network_tier: standard asks for ordinary Ethernet; efa-v2 is RDMA; ")


def test_a_lone_gpu_is_held_to_no_nvlinks() -> None:
    lone = changed(P5, group__machine_type="p5.4xlarge", group__accelerators="H100:1", validation__floor_gbytes_per_s=10)
    health = plan_of(lone).groups[0].gate.gate.health
    assert health is not None
    assert (health.gpus, health.nvlinks_per_gpu, health.hcas_per_node) == (1, 0, 1)


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        ({}, {"cpu": "1"}),
        ({"limits": {"memory": "1Ti"}}, {}),
        ({"requests": {"cpu": "8"}}, {"cpu": "8"}),
        ({"requests": {"memory": "1Ti"}}, {"memory": "1Ti"}),
    ],
)
def test_huge_pages_come_with_cpu_or_memory(resources: dict[str, dict[str, str]], requests: dict[str, str]) -> None:
    """Kubernetes refuses a container that asks for huge pages and for neither of the two."""
    merge = Merge.of({"containers": [{"name": "a", "resources": resources}]})
    merge.resources({"hugepages-2Mi": "5120Mi"})
    (container,) = merge.result["containers"]
    assert container["resources"]["limits"]["hugepages-2Mi"] == "5120Mi"
    assert container["resources"].get("requests", {}) == requests


@pytest.mark.parametrize("name", [name for name, row in aws_machines().items() if not row.refusal and row.accelerators == 8])
def test_inside_one_node_the_figure_is_nvlinks_and_not_the_networks(name: str) -> None:
    """A row of two nodes must not be taken for one: a healthy p5 without NVLS gives 360 there and 479 between two."""
    row = aws_machines()[name]
    found = find_baseline(fabric=row.fabric, accelerator=row.accelerator, per_node=8, nodes=1, collective="all_reduce")
    assert found is None or found.most_nodes == 1
