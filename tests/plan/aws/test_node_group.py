"""One node group: machine, image, user data, labels, taints, its gate's group; and what is refused."""

import re
from email import message_from_string
from typing import Any

import pytest
import yaml

from gpufabric.hardware import aws_machines, eks_versions, machine_fabrics
from gpufabric.plan.cloud import Taint
from gpufabric.plan.cloud_group import disk_problems, gate_group
from gpufabric.spec.aws.node_group import EksNodeGroupSpec
from tests.plan.aws.wishes import P5, RESERVATION, group_of, plan_of, says, says_of_group
from tests.spec.specs import GONE, changed

BUILT = [name for name, row in aws_machines().items() if not row.refusal]


@pytest.mark.parametrize("machine", BUILT)
def test_every_machine_that_is_not_refused_is_planned(machine: str) -> None:
    stack = plan_of(changed(P5, group__machine_type=machine, group__nodes=2))
    (group,), (gate,) = stack.node_groups, stack.groups
    row = aws_machines()[machine]
    assert group.machine is row
    assert gate.profile.fabric.resources == {
        "nvidia.com/gpu": row.accelerators,
        "hugepages-2Mi": "5120Mi",
        "vpc.amazonaws.com/efa": row.fabric_devices,
    }
    assert gate.profile.fabric.capabilities == ("IPC_LOCK",)
    assert gate.profile.fabric.shared_memory
    assert gate.profile.fabric.environment == {"FI_PROVIDER": "efa", "NCCL_SOCKET_IFNAME": "eth0"}
    assert gate.gate.gate.image.startswith("public.ecr.aws/hpc-cloud/nccl-tests:cuda")
    assert gate.gate.gate.expectation.transport_regex == "Using network (AWS )?Libfabric"
    assert gate.gate.gate.hold == "taint"


def test_nothing_obsolete_is_set() -> None:
    """Each of these was needed once and hides a fault today (aws-ofi-nccl's documentation of its efa provider)."""
    obsolete = {"FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO", "RDMAV_FORK_SAFE", "FI_EFA_FORK_SAFE", "NCCL_IB_HCA"}
    for machine in BUILT:
        plan = plan_of(changed(P5, group__machine_type=machine, group__nodes=2))
        assert not obsolete & plan.groups[0].profile.fabric.environment.keys()


def test_accelerators_alone_choose_the_only_machine() -> None:
    assert group_of(machine_type=GONE, accelerators="B200:8").machine.name == "p6-b200.48xlarge"
    assert group_of(accelerators="H100:8").machine.name == "p5.48xlarge"


def test_labels_and_taints() -> None:
    group = group_of()
    assert group.labels == {"gpufabric.dev/node-group": "train", "gpufabric.dev/fabric": "efa"}
    assert group.taints == (Taint("nvidia.com/gpu", "present"), Taint("gpufabric.dev/hold", ""))
    assert all(each.effect == "NoSchedule" for each in group.taints)
    assert group_of(network_tier="standard").labels == {"gpufabric.dev/node-group": "train"}, "the EFA plugin would end there"


def parts_of(text: str) -> dict[str, str]:
    message = message_from_string(text)
    assert message.is_multipart()
    return {part.get_content_type(): str(part.get_payload()) for part in message.walk() if not part.is_multipart()}


def test_user_data_stripes_the_disks_and_sets_huge_pages_before_the_kubelet() -> None:
    parts = parts_of(group_of().user_data)
    assert yaml.safe_load(parts["application/node.eks.aws"]) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }
    assert parts["text/x-shellscript"].split() == ["#!/bin/bash", "sysctl", "-w", "vm.nr_hugepages=5128"]
    assert parts_of(group_of(disk_tier="network").user_data).keys() == {"text/x-shellscript"}
    assert parts_of(group_of(network_tier="standard").user_data).keys() == {"application/node.eks.aws"}
    assert group_of(network_tier="standard", disk_tier="network").user_data == ""


@pytest.mark.parametrize("name", [name for name, row in machine_fabrics().items() if row.node_huge_pages_2mib])
def test_more_huge_pages_are_set_aside_than_a_pod_asks_for(name: str) -> None:
    row = machine_fabrics()[name]
    asked = str(row.pod_resources["hugepages-2Mi"])
    assert row.node_huge_pages_2mib * 2 >= int(asked.removesuffix("Mi"))


def test_local_disks_are_never_a_network_disk_by_another_name() -> None:
    """SkyPilot's `best` was one."""
    wish = EksNodeGroupSpec.parse(P5["node_groups"][0])
    bare = aws_machines()["p6e-gb200.36xlarge"]
    (problem,) = disk_problems(wish, bare, "node_groups[0]")
    assert str(problem).startswith(
        "node_groups[0].disk_tier: best (the default) asks for local NVMe disks; p6e-gb200.36xlarge has none that are known "
        "here; write disk_tier: network ("
    )
    assert disk_problems(wish, aws_machines()["p5.48xlarge"], "node_groups[0]") == []


@pytest.mark.parametrize("version", eks_versions())
def test_the_image_release_is_that_of_the_kubernetes_version(version: str) -> None:
    group = plan_of({**P5, "cluster": {"kubernetes_version": version}}).node_groups[0]
    assert group.release_version.startswith(f"{version}.")
    assert group.ami_type == "AL2023_x86_64_NVIDIA"


def test_the_pinned_releases_keep_the_array_of_local_disks() -> None:
    """amazon-eks-ami 2386, repaired by its pull request 2755 from v20260709 on: it was lost, or the node hung, after a stop."""
    assert min(int(row.ami_release.rpartition("-")[2]) for row in eks_versions().values()) >= 20260709


def test_a_release_of_ones_own() -> None:
    assert group_of(ami_release="1.35.6-20260801").release_version == "1.35.6-20260801"


def test_the_gate_sees_the_same_group() -> None:
    member = gate_group(group_of(capacity={"kind": "reservation", "id": RESERVATION}))
    assert member.model_dump(exclude_none=True) == {
        "name": "train",
        "node_selector": {"gpufabric.dev/node-group": "train"},
        "accelerators": "H100:8",
        "nodes": 4,
        "network_tier": "best",
        "machine_type": "p5.48xlarge",
    }
    ethernet = gate_group(group_of(network_tier="standard"))
    assert (ethernet.fabric, ethernet.machine_type, ethernet.network_tier) == ("ethernet", None, "standard")


def test_ethernet_asks_for_no_efa() -> None:
    (gate,) = plan_of(changed(P5, group__network_tier="standard")).groups
    assert gate.profile.fabric.resources == {"nvidia.com/gpu": 8}
    assert gate.profile.fabric.capabilities == ()


REFUSED = (
    "p4d.24xlarge, p4de.24xlarge, p5.4xlarge, p5.48xlarge, p5e.48xlarge, p5en.48xlarge, p6-b200.48xlarge, p6-b300.48xlarge"
)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown machine": (
        {"machine_type": "p5.24xlarge"},
        r"machine_type: unknown machine 'p5.24xlarge' \(did you mean 'p5.4xlarge'\?\); known: g6e.*; write one of these",
    ),
    "an UltraServer": (
        {"machine_type": "p6e-gb200.36xlarge"},
        r"machine_type: p6e-gb200.36xlarge is not built: it is sold as whole UltraServers .*; write one of p4d.24xlarge, .*",
    ),
    "Trainium": ({"machine_type": "trn2.48xlarge"}, r"machine_type: trn2.48xlarge is not built: Trainium has no NCCL: .*"),
    "accelerators of a refused machine": (
        {"machine_type": GONE, "accelerators": "GB200:4"},
        r"accelerators: p6e-gb200.36xlarge is not built: .*",
    ),
    "accelerators that several have": (
        {"machine_type": GONE, "accelerators": "H200:8"},
        r"machine_type: missing: several machines hold H200:8; write one of p5e.48xlarge, p5en.48xlarge",
    ),
    "accelerators that none has": (
        {"machine_type": GONE, "accelerators": "H100:4"},
        r"accelerators: no machine of AWS that is known here holds H100:4; write one of A100:8, .*H100:8, .*",
    ),
    "neither": (
        {"machine_type": GONE},
        r"machine_type: missing; write a machine such as p4d.24xlarge, or accelerators: A100:8",
    ),
    "accelerators of another machine": (
        {"accelerators": "H100:4"},
        r"accelerators: p5.48xlarge holds H100:8, not H100:4; write H100:8, or leave it out \(vendor, .*\)",
    ),
    "no nodes": ({"nodes": 0}, r"nodes: 0 is out of range; write a number from 1 up"),
    "nodes below nothing": ({"nodes": -2}, r"nodes: -2 is out of range; write a number from 1 up"),
    "more nodes than Kubernetes takes": ({"nodes": 5001}, r"nodes: 5001 is out of range; write a number up to 5000"),
    "a public address": (
        {"public_ip": True},
        (
            r"public_ip: AWS gives no public address to a machine with 33 network interfaces \(p5.48xlarge\); "
            r"leave it out; nodes reach the internet through the NAT gateway \(AWS EC2 EFA documentation\)"
        ),
    ),
    "Amazon Linux 2": (
        {"ami_type": "AL2_x86_64_GPU"},
        (
            r"ami_type: AL2_x86_64_GPU is refused: AWS makes no Amazon Linux 2 images for EKS since 2025-11-26; "
            r"leave it out, or write AL2023_x86_64_NVIDIA \(vendor, .*\)"
        ),
    ),
    "an image for ARM": (
        {"ami_type": "AL2023_ARM_64_NVIDIA"},
        (
            r"ami_type: AL2023_ARM_64_NVIDIA is for arm64; p5.48xlarge is x86_64; "
            r"leave it out, or write AL2023_x86_64_NVIDIA"
        ),
    ),
    "an image without the driver": (
        {"ami_type": "AL2023_x86_64_STANDARD"},
        r"ami_type: AL2023_x86_64_STANDARD is no image family with NVIDIA's driver that is known here; .*",
    ),
    "Bottlerocket": (
        {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"},
        r"ami_type: BOTTLEROCKET_x86_64_NVIDIA is refused: disks and .*",
    ),
    "a release of another version": (
        {"ami_release": "1.34.9-20260714"},
        (
            r"ami_release: 1.34.9-20260714 is not of Kubernetes 1.35, the cluster's version; "
            r"leave it out \(then 1.35.6-20260714\)"
        ),
    ),
    "a release that is none": ({"ami_release": "latest"}, r"ami_release: 'latest' is not a release of EKS node images; .*"),
    "a name that is too long": (
        {"name": "training-of-the-big-model"},
        r"name: 'training-of-the-big-model' cannot be part of .*",
    ),
    "metadata for everybody": ({"imds_hop_limit": 3}, r"imds_hop_limit: 3 is out of range; write a number up to 2"),
    "a role by its name": (
        {"node_role_arn": "gpu-nodes"},
        r"node_role_arn: 'gpu-nodes' is not the ARN of an IAM role; write for example arn:aws:iam::123456789012:role/gpu-nodes",
    ),
    "a user as the role": (
        {"node_role_arn": "arn:aws:iam::123456789012:user/me"},
        r"node_role_arn: .* is not the ARN of an .*",
    ),
    "a role of another world": (
        {"node_role_arn": "arn:aws-cn:iam::123456789012:role/nodes"},
        r"node_role_arn: arn:aws-cn:iam::123456789012:role/nodes is not of aws, where us-east-2 is; write an ARN .*",
    ),
    "a fabric by name": ({"fabric": "infiniband"}, r"fabric: unknown key; known keys: .*"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_group_is_answered_with_one_line(case: str) -> None:
    changes, pattern = BAD[case]
    (line,) = says_of_group(**changes)
    assert re.fullmatch(pattern, line), line


def test_a_second_group_of_the_same_name() -> None:
    (line,) = says({**P5, "node_groups": P5["node_groups"] * 2})
    assert line == "node_groups: two groups are named train; give every group a name of its own"


def test_a_zone_of_another_region() -> None:
    assert says({**P5, "zone": "us-west-2a"})[0] == "zone: us-west-2a is not in us-east-2; write a zone such as us-east-2a"
    (line,) = says({**P5, "zone": "us-west-2-lax-1a"})
    assert line.startswith("zone: 'us-west-2-lax-1a' is not the name of an availability zone; ")


def test_a_gate_that_would_leave_the_taint() -> None:
    (line,) = says(changed(P5, validation__hold="label"))
    assert line.startswith(
        "validation.hold: nodes of EKS are made with the hold's taint, which only a gate with hold: taint takes"
    )


def test_problems_of_all_groups_come_together() -> None:
    groups = [
        {"name": "a", "machine_type": "p7.48xlarge", "nodes": 2},
        {"name": "b", "machine_type": "p5.48xlarge", "nodes": 2},
    ]
    lines = says({**P5, "zone": "us-east-1a", "node_groups": [groups[0], {**groups[1], "public_ip": True}]})
    assert [line.split(":")[0] for line in lines] == ["zone", "node_groups[0].machine_type", "node_groups[1].public_ip"]


def test_one_rule_keeps_a_coordinator_off_any_number_of_groups() -> None:
    """With a rule for each other group a thousand groups took fifty times as long as a hundred, and a Job of a megabyte."""
    groups = [{"name": f"g{number}", "machine_type": "p5.48xlarge", "nodes": 2} for number in range(120)]
    for gate in plan_of({**P5, "node_groups": groups}).groups:
        affinity = gate.gate.coordinator_job_spec["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term == {"matchExpressions": [{"key": "gpufabric.dev/node-group", "operator": "DoesNotExist"}]}


def test_a_coordinator_keeps_off_made_groups_and_off_others() -> None:
    from gpufabric.plan.placement import outside_groups

    found = outside_groups([{"gpufabric.dev/node-group": "a"}, {"pool": "b"}, {"gpufabric.dev/node-group": "c"}])
    (term,) = found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "gpufabric.dev/node-group", "operator": "DoesNotExist"},
        {"key": "pool", "operator": "NotIn", "values": ["b"]},
    ]
