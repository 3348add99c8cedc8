"""The samples as stacks: what they ask for, what they take for granted, and what they leave."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from gpufabric.plan import resolve
from gpufabric.spec import CONFIG_KEY, TrainingSpec, parse_spec
from tests.kubernetes.stack_plans import samples
from tests.preflight.cluster import FakeCluster, kubeconfig
from tools.standin.standin import StandIn


@dataclass(frozen=True)
class Cloud:
    """What the documentation says a destroy leaves: buckets with their settings, and file systems until they are given up."""

    bucket: str = ""
    filesystems: frozenset[str] = frozenset()

    def made(self, wish: dict[str, Any], key: str) -> dict[str, Any]:
        """What of ``stores`` or ``filesystems`` a stack makes: on a cluster of one's own nothing, all of it exists."""
        found: dict[str, Any] = wish.get(key, {}) if self.bucket else {}
        return found

    @property
    def stays(self) -> str:
        """How the kinds begin that stay: a bucket's and those of its settings."""
        return self.bucket.partition("/")[0] + "/"


CLOUDS = {
    "aws": Cloud("aws:s3/bucket:Bucket", frozenset({"aws:fsx/lustreFileSystem:LustreFileSystem"})),
    "gcp": Cloud("gcp:storage/bucket:Bucket", frozenset({"gcp:lustre/instance:Instance", "gcp:filestore/instance:Instance"})),
    "kubernetes": Cloud(),
}
SAMPLES = [sample for cloud in CLOUDS for sample in samples(cloud)]


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
    """Put everything into the account that the sample takes for granted. Nodes are what the preflight alone asks for."""
    {"aws": _hold_on_aws, "gcp": _hold_on_google, "kubernetes": _hold_in_cluster}[wish["cloud"]](cloud, wish)


@contextmanager
def what_the_preflight_asks(wish: dict[str, Any], folder: Path) -> Iterator[Path | None]:
    """Kubeconfig of a cluster of one's own that has what the sample takes for granted; None where a cloud makes the cluster."""
    spec = parse_spec(wish)
    if not isinstance(spec, TrainingSpec):
        yield None
        return
    cluster = FakeCluster()
    try:
        cluster.add_kueue()
        cluster.add_groups(resolve(spec, "any"))
        yield kubeconfig(folder / "kubeconfig", cluster.url, context=spec.cluster.existing.context or "c")
    finally:
        cluster.close()


def _hold_in_cluster(cloud: StandIn, wish: dict[str, Any]) -> None:
    for namespace in {store["namespace"] for store in wish.get("stores", {}).values() if "namespace" in store}:
        cloud.hold("kubernetes:core/v1:Namespace", namespace)


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
