"""A plain program before and after a pull request: `reviewed:step` is 1, then 2."""

import pulumi
from pulumi_aws import ec2, eks, fsx, iam, s3

after = pulumi.Config("reviewed").require_int("step") == 2
network = ec2.Vpc("net", cidr_block="10.0.0.0/16")
subnet = ec2.Subnet("net", vpc_id=network.id, cidr_block="10.0.0.0/24", availability_zone="us-east-2b")
role = iam.Role("nodes", assume_role_policy="{}")
cluster = eks.Cluster("train", name="train", role_arn=role.arn, vpc_config={"subnet_ids": [subnet.id]})


def nodes(name: str, machine: str, count: int, group_name: str | None = None) -> None:
    template = ec2.LaunchTemplate(name, instance_type=machine)
    eks.NodeGroup(
        name,
        cluster_name=cluster.name,
        node_group_name=group_name,
        node_role_arn=role.arn,
        subnet_ids=[subnet.id],
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        scaling_config={"desired_size": count, "min_size": 0, "max_size": count},
    )


nodes("rolled", "p5en.48xlarge" if after else "p5.48xlarge", 2)
nodes("renamed", "p4d.24xlarge", 2, "again" if after else "once")
nodes("shrunk", "p5.48xlarge", 1 if after else 3)
if after:
    nodes("added", "p5.48xlarge", 2)
else:
    nodes("removed", "p4d.24xlarge", 1)
fsx.LustreFileSystem(
    "data",
    subnet_ids=subnet.id,
    deployment_type="PERSISTENT_2",
    storage_type="SSD",
    storage_capacity=1200,
    per_unit_storage_throughput=250 if after else 125,
    data_compression_type="LZ4" if after else None,
)
s3.Bucket("weights", bucket="acme-weights-2" if after else "acme-weights-1")
