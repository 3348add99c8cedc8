"""Small programs that use pulumi_gcp as it is."""

from pathlib import Path

PROJECT = "train-123456"
REGION, ZONE = "us-east4", "us-east4-b"
CONFIG = {"gcp:project": PROJECT, "gcp:region": REGION}

# A network and a cluster with one pool: what every sample has.
WHOLE = f"""
from pulumi_gcp import compute, container

network = compute.Network("vpc", name="vpc", auto_create_subnetworks=False, mtu=8896)
subnet = compute.Subnetwork("subnet", name="subnet", network=network.id, region="{REGION}", ip_cidr_range="10.0.0.0/20",
    secondary_ip_ranges=[dict(range_name="pods", ip_cidr_range="10.4.0.0/14"),
        dict(range_name="services", ip_cidr_range="10.8.0.0/20")])
cluster = container.Cluster("train", name="train", location="{ZONE}", network=network.id, subnetwork=subnet.id,
    ip_allocation_policy=dict(cluster_secondary_range_name="pods", services_secondary_range_name="services"),
    remove_default_node_pool=True, initial_node_count=1, deletion_protection=False)
container.NodePool("gpu", name="gpu", cluster=cluster.id, node_count=2, node_config=dict(machine_type="a3-ultragpu-8g"))
"""


def write(folder: Path, text: str) -> Path:
    """A program in a folder of its own."""
    program = folder / "program"
    program.mkdir()
    (program / "__main__.py").write_text(text, encoding="utf-8")
    return program
