"""A plain pulumi_gcp program with the mistakes that people make; test_engine.py lists each."""

import pulumi
from pulumi_gcp import compute, container, lustre, storage

ZONE = "us-east4-a"
host = compute.Network("host", auto_create_subnetworks=False)
subnet = compute.Subnetwork("host", network=host.id, ip_cidr_range="10.0.0.0/20", region="us-east4")
compute.Firewall(
    "ssh", network=host.name, allows=[{"protocol": "tcp", "ports": ["22"]}], source_ranges=["0.0.0.0/0"], direction="INGRESS"
)
# The profile of another zone, an MTU of 1460, a firewall rule where none can be.
rdma = compute.Network("rdma", auto_create_subnetworks=False, network_profile="us-east4-b-vpc-roce", mtu=1460)
rails = [
    compute.Subnetwork(f"rail-{number}", network=rdma.id, ip_cidr_range=f"192.168.{number}.0/24", region="us-east4")
    for number in range(8)
]
compute.Firewall("rdma", network=rdma.id, allows=[{"protocol": "all"}], source_ranges=["192.168.0.0/16"])

cluster = container.Cluster(
    "train",
    location="us-east4",
    network=host.id,
    subnetwork=subnet.id,
    enable_multi_networking=True,
    deletion_protection=False,
    initial_node_count=1,
)


def pool(name: str, config: dict[str, object], **more: object) -> None:
    """Two nodes, which GKE moves to new versions when it likes."""
    container.NodePool(
        name,
        cluster=cluster.name,
        location="us-east4",
        node_locations=[ZONE],
        node_count=2,
        node_config=config,
        management={"auto_upgrade": True, "auto_repair": False},
        **more,
    )


# A rail too few, and a boot disk that the machine does not boot from.
networks = [{"network": rdma.name, "subnetwork": each.name} for each in rails]
pool(
    "ultra",
    {"machine_type": "a3-ultragpu-8g", "disk_type": "pd-ssd"},
    network_config={"additional_node_network_configs": networks},
)
# Without its networks; spot and a reservation at once; half of its disks.
pool(
    "mega",
    {
        "machine_type": "a3-megagpu-8g",
        "spot": True,
        "ephemeral_storage_local_ssd_config": {"local_ssd_count": 8},
        "reservation_affinity": {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["h100"],
        },
    },
)
lustre.Instance(
    "data",
    instance_id="data",
    filesystem="data",
    location="us-east4-b",
    network=host.id,
    capacity_gib="10000",
    per_unit_storage_throughput="1000",
)
storage.Bucket("checkpoints", location="US-WEST1", force_destroy=True, soft_delete_policy={"retention_duration_seconds": 0})
pulumi.export("cluster", cluster.name)
