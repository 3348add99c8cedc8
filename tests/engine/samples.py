"""The AWS samples as stacks: what they ask for, and what they take for granted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from gpufabric.spec import CONFIG_KEY
from tools.folders import REPOSITORY
from tools.standin.standin import StandIn

STACKS = REPOSITORY / "stacks"
SAMPLES = sorted(STACKS.glob("Pulumi.aws-*.yaml"))


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
