"""A plain program of the AWS stack's kind: a network, a node group whose template has 32 NICs, a bucket that stays."""

import pulumi
from pulumi_aws import ec2, eks, iam, s3

NICS = 32

config = pulumi.Config("plain")
network = ec2.Vpc("net", cidr_block="10.0.0.0/16", tags={"owner": config.get("owner") or "tests"})
subnets = [
    ec2.Subnet(f"net-{zone}", vpc_id=network.id, cidr_block=f"10.0.{number}.0/24", availability_zone=f"us-east-2{zone}")
    for number, zone in enumerate("ab")
]
fabric = ec2.SecurityGroup(
    "fabric", vpc_id=network.id, ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}]
)
role = iam.Role("nodes", assume_role_policy="{}")
worker = iam.RolePolicyAttachment(
    "nodes-worker", role=role.name, policy_arn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
)
cluster = eks.Cluster(
    "train", name=config.get("cluster"), role_arn=role.arn, vpc_config={"subnet_ids": [each.id for each in subnets]}
)
nics = [
    {
        "network_card_index": card,
        "device_index": 0,
        "interface_type": "efa-only" if card else "interface",
        "security_groups": [fabric.id, cluster.vpc_config.cluster_security_group_id],
    }
    for card in range(NICS)
]
template = ec2.LaunchTemplate(
    "gpu",
    instance_type=config.get("machine") or "p5.48xlarge",
    network_interfaces=nics,
    user_data=config.get_secret("user_data"),
)
group = eks.NodeGroup(
    "gpu",
    cluster_name=cluster.name,
    node_role_arn=role.arn,
    subnet_ids=[subnets[1].id],
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
    scaling_config={"desired_size": 2, "min_size": 2, "max_size": 2},
    opts=pulumi.ResourceOptions(depends_on=[worker]),
)
bucket = s3.Bucket("checkpoints", opts=pulumi.ResourceOptions(retain_on_delete=True))
pulumi.export("bucket", bucket.bucket)
pulumi.export("group", group.arn)
pulumi.export("version", template.latest_version)
