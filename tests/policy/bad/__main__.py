"""A plain program of pulumi_aws and pulumi_kubernetes with the mistakes that people make; test_engine.py lists each."""

import pulumi
from pulumi_aws import Provider, ec2, eks, fsx, iam, s3
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.helm.v3 import Release

network = ec2.Vpc("net", cidr_block="10.0.0.0/16")
subnets = [
    ec2.Subnet(f"net-{zone}", vpc_id=network.id, cidr_block=f"10.0.{number}.0/24", availability_zone=f"us-east-2{zone}")
    for number, zone in enumerate("ab")
]
both = [each.id for each in subnets]
group = ec2.SecurityGroup(
    "nodes",
    vpc_id=network.id,
    ingress=[{"protocol": "tcp", "from_port": 22, "to_port": 22, "cidr_blocks": ["0.0.0.0/0"]}],
)
role = iam.Role("nodes", assume_role_policy="{}")
cluster = eks.Cluster("train", role_arn=role.arn, version="1.29", vpc_config={"subnet_ids": both})


def nodes(name: str, template: ec2.LaunchTemplate, subnet_ids: list[pulumi.Output[str]], **more: object) -> eks.NodeGroup:
    """A group of two that is always full."""
    return eks.NodeGroup(
        name,
        cluster_name=cluster.name,
        node_role_arn=role.arn,
        subnet_ids=subnet_ids,
        launch_template={"id": template.id, "version": "$Latest"},
        scaling_config={"desired_size": 2, "min_size": 2, "max_size": 2},
        **more,
    )


# Device index = card index, groups in two places, a public address; in two zones.
scrambled = ec2.LaunchTemplate(
    "scrambled",
    instance_type="p5.48xlarge",
    vpc_security_group_ids=[group.id],
    network_interfaces=[
        {
            "network_card_index": card,
            "device_index": card,
            "interface_type": "efa-only" if card else "interface",
            "security_groups": [group.id],
            **({} if card else {"associate_public_ip_address": "true"}),
        }
        for card in range(32)
    ],
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 200}}],
    user_data="#!/bin/sh\nexport AWS_ACCESS_KEY_ID=AKIA0123456789ABCDEF\n",
)
nodes("scrambled", scrambled, both, ami_type="AL2_x86_64_GPU", instance_types=["p5.48xlarge"])

# A machine with EFA, without it. Its template lies elsewhere in part: nothing is known of the disks.
slow = ec2.LaunchTemplate("slow", instance_type="p4d.24xlarge", metadata_options={"http_tokens": "required"})
nodes("slow", slow, both[:1], ami_type="AL2023_x86_64_NVIDIA", capacity_type="SPOT")

# A block that the template does not know, a placement group beside a reservation.
together = ec2.PlacementGroup("together", strategy="cluster")
block = ec2.LaunchTemplate(
    "block",
    instance_type="p5en.48xlarge",
    placement={"group_name": together.name},
    capacity_reservation_specification={"capacity_reservation_target": {"capacity_reservation_id": "cr-0123456789abcdef0"}},
    metadata_options={"http_tokens": "required"},
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"encrypted": "true"}}],
)
nodes("block", block, both[:1], capacity_type="CAPACITY_BLOCK")

# Made by a program that nobody else sees: its template's id is all that is known.
eks.NodeGroup(
    "elsewhere",
    cluster_name=cluster.name,
    node_role_arn=role.arn,
    subnet_ids=both[:1],
    launch_template={"id": "lt-0123456789abcdef0", "version": "1"},
    scaling_config={"desired_size": 1, "min_size": 1, "max_size": 1},
)

s3.Bucket("checkpoints", bucket="acme-checkpoints", force_destroy=True)
abroad = Provider("abroad", region="eu-west-1")
s3.Bucket("data", bucket="acme-data", opts=pulumi.ResourceOptions(provider=abroad))
fsx.LustreFileSystem(
    "scratch",
    subnet_ids=subnets[1].id,
    deployment_type="PERSISTENT_2",
    per_unit_storage_throughput=250,
    storage_capacity=5000,
)

ConfigMap("tokens", metadata={"name": "tokens", "namespace": "ml"}, data={"API_KEY": "0123"})
Release("operator", chart="gpu-operator", namespace="gpu-operator")
Job(
    "finetune",
    metadata={"name": "finetune", "namespace": "ml"},
    spec={
        "parallelism": 2,
        "completions": 2,
        "template": {
            "spec": {
                "host_network": True,
                "restart_policy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example.com/train:latest",
                        "env": [{"name": "HF_TOKEN", "value": "0123"}],
                        "resources": {"limits": {"nvidia.com/gpu": "8"}},
                        "volume_mounts": [{"name": "out", "mount_path": "/checkpoints"}],
                    },
                    {
                        "name": "mount",
                        "image": "rclone/rclone:1.76.0",
                        "command": ["rclone", "mount", "s3:acme", "/data", "--vfs-cache-mode", "writes"],
                    },
                ],
                "volumes": [{"name": "out", "empty_dir": {}}],
            }
        },
    },
)
