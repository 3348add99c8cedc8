"""The cloud samples as stacks: what they ask for, what they take for granted, and what they leave."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from gpufabric.spec import CONFIG_KEY
from tools.folders import REPOSITORY
from tools.standin.standin import StandIn

STACKS = REPOSITORY / "stacks"


@dataclass(frozen=True)
class Cloud:
    """What the documentation says a destroy leaves: buckets with their settings, and file systems until they are given up."""

    bucket: str
    filesystems: frozenset[str]

    @property
    def stays(self) -> str:
        """How the kinds begin that stay: a bucket's and those of its settings."""
        return self.bucket.partition("/")[0] + "/"


CLOUDS = {
    "aws": Cloud("aws:s3/bucket:Bucket", frozenset({"aws:fsx/lustreFileSystem:LustreFileSystem"})),
    "gcp": Cloud("gcp:storage/bucket:Bucket", frozenset({"gcp:lustre/instance:Instance", "gcp:filestore/instance:Instance"})),
}
SAMPLES = [sample for cloud in CLOUDS for sample in sorted(STACKS.glob(f"Pulumi.{cloud}-*.yaml"))]


def cloud_of(sample: Path) -> str:
    """``aws``, by its name."""
    return name_of(sample).partition("-")[0]


def name_of(sample: Path) -> str:
    """Name of its stack."""
    return sample.name.split(".")[1]


def read_sample(file: Path) -> dict[str, Any]:
    """The wish of a sample, its window moved to next week: what is declared depends on the time."""
    wish: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))["config"][CONFIG_KEY]
    now = datetime.now(UTC)
    for group in wish["node_groups"]:
        if "starts_at" in group.get("capacity", {}):
            window = {"starts_at": now + timedelta(days=7), "ends_at": now + timedelta(days=14)}
            group["capacity"] |= {key: f"{time:%Y-%m-%dT%H:%M:%SZ}" for key, time in window.items()}
    return wish


def hold_what_exists(cloud: StandIn, wish: dict[str, Any]) -> None:
    """Put everything into the account that the sample takes for granted."""
    {"aws": _hold_on_aws, "gcp": _hold_on_google}[wish["cloud"]](cloud, wish)


def _hold_on_aws(cloud: StandIn, wish: dict[str, Any]) -> None:
    hold = cloud.hold
    existing = wish.get("network", {}).get("existing", {})
    if existing:
        hold("aws:ec2/vpc:Vpc", existing["vpc"])
        for subnet in existing["subnets"]:
            hold("aws:ec2/subnet:Subnet", subnet, vpcId=existing["vpc"])
    for group in wish["node_groups"]:
        capacity = group.get("capacity", {})
        if "id" in capacity:
            hold("aws:ec2/capacityReservation:CapacityReservation", capacity["id"])
        if "placement_group" in capacity:
            name = capacity["placement_group"]
            hold("aws:ec2/placementGroup:PlacementGroup", name, name=name)


def _hold_on_google(cloud: StandIn, wish: dict[str, Any]) -> None:
    project, region, zone = f"projects/{wish['project']}", wish["region"], wish["zone"]
    existing = wish.get("network", {}).get("existing", {})
    cards = [each for group in existing.get("gpu_networks", {}).values() for each in group]
    nets = [existing, *cards] if existing else []
    for network in {each["network"] for each in nets}:  # all rails are in one
        cloud.hold("gcp:compute/network:Network", f"{project}/global/networks/{network}", name=network)
    for subnet in (each["subnetwork"] for each in nets):
        cloud.hold("gcp:compute/subnetwork:Subnetwork", f"{project}/regions/{region}/subnetworks/{subnet}", name=subnet)
    for group in wish["node_groups"]:
        capacity = group.get("capacity", {})
        if "id" in capacity:
            name = capacity["id"].rpartition("/")[2]
            cloud.hold("gcp:compute/reservation:Reservation", f"{project}/zones/{zone}/reservations/{name}", name=name)
        if "placement_policy" in capacity:
            name = capacity["placement_policy"]
            path = f"{project}/regions/{region}/resourcePolicies/{name}"
            cloud.hold("gcp:compute/resourcePolicy:ResourcePolicy", path, name=name)
