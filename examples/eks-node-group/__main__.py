"""An organisation's own AWS stack: its own VPC and EKS cluster, and from gpufabric the GPU nodes, their gate and profile.

Install: ``pip install 'gpufabric[aws]'``. Config: ``image`` (the gate's), ``trainerImage``, ``reservation`` (``cr-...``), and
the secret ``kubeconfig``. The cluster's CNI is expected to have its permissions by pod identity; else pass ``node_role_arn``.
"""

import json

import pulumi
from pulumi_aws import ec2, eks, iam
from pulumi_kubernetes import Provider
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import Namespace

from gpufabric.aws import AwsNetwork, EksGpuNodeGroup
from gpufabric.kubernetes import FabricDaemons, NcclValidation

config = pulumi.Config()
zone = "us-east-2b"

# --- what the organisation has in this program
vpc = ec2.Vpc("acme", cidr_block="10.20.0.0/16", enable_dns_hostnames=True)
subnets = [
    ec2.Subnet(f"acme-{each}", vpc_id=vpc.id, availability_zone=each, cidr_block=f"10.20.{position * 64}.0/18")
    for position, each in enumerate(("us-east-2a", zone))
]
trust = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "eks.amazonaws.com"}}],
    }
)
role = iam.Role("acme-cluster", assume_role_policy=trust)
cluster = eks.Cluster(
    "acme",
    name="acme",
    role_arn=role.arn,
    version="1.35",
    vpc_config={"subnet_ids": [each.id for each in subnets], "endpoint_private_access": True},
)
inside = Provider("acme", kubeconfig=config.require_secret("kubeconfig"))

# --- what gpufabric adds: the security group of EFA, nodes that are closed, device plugins, and the gate that opens them
network = AwsNetwork(
    "efa",
    {"zone": zone, "existing": {"vpc": vpc.id, "subnets": [each.id for each in subnets], "node_subnet": subnets[1].id}},
)
nodes = EksGpuNodeGroup(
    "train",
    {
        "name": "train",
        "machine_type": "p5.48xlarge",
        "nodes": 4,
        "capacity": {"kind": "reservation", "id": config.require("reservation")},
        "zone": zone,
        "cluster_name": cluster.name,
        "cluster_security_group_id": cluster.vpc_config.cluster_security_group_id,
        "efa_security_group_id": network.efa_security_group_id,
        "subnet_id": network.gpu_subnet_id,
    },
)
plugins = FabricDaemons(
    "plugins",
    {"daemons": ["aws-efa-device-plugin", "nvidia-device-plugin"]},
    pulumi.ResourceOptions(providers=[inside]),
)
gate = NcclValidation(
    "train",
    {"node_group": nodes.gate_group, "validation": {"image": config.require("image"), "hold": "taint"}},
    pulumi.ResourceOptions(providers=[inside], depends_on=[nodes, plugins]),
)

# --- a job: it gets the fabric that was validated, and runs only where the gate passed
team = Namespace("team", metadata={"name": "team"}, opts=pulumi.ResourceOptions(provider=inside))
trainer = {"name": "trainer", "image": config.require("trainerImage"), "command": ["torchrun", "train.py"]}
job = Job(
    "finetune",
    metadata={"name": "finetune", "namespace": "team"},
    spec={
        "completions": 4,
        "parallelism": 4,
        "completionMode": "Indexed",
        **nodes.pod_profile.apply_to({"template": {"spec": {"restartPolicy": "Never", "containers": [trainer]}}}),
    },
    opts=pulumi.ResourceOptions(provider=inside, depends_on=[gate, team]),
)

pulumi.export("verdict", gate.verdict)
pulumi.export("profile", nodes.profile)
