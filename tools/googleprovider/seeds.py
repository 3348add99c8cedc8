"""What a sample takes for granted, put into the project."""

from collections.abc import Iterator, Mapping
from typing import Any

from tools.googleapi.account import Account


def seed(account: Account, wish: Mapping[str, Any]) -> None:
    """The sample's VPC with its ranges and GPU networks, its cluster and its reservations."""
    for path, body in _things(wish):
        account.hold(path, "container" if "/clusters/" in path else "compute", **body)


def existing(wish: Mapping[str, Any]) -> list[str]:
    """Paths of all of them."""
    return list(dict.fromkeys(path for path, _ in _things(wish)))


def _things(wish: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    project, region, zone = f"projects/{wish['project']}", wish["region"], wish["zone"]
    network = wish.get("network", {}).get("existing")
    if network:
        yield from _network(project, region, network["network"], network["subnetwork"])
        for word in ("pods_range", "services_range"):
            yield f"{project}/regions/{region}/subnetworks/{network['subnetwork']}/secondaryIpRanges/{network[word]}", {}
        for group in network.get("gpu_networks", {}).values():
            for each in group:
                yield from _network(project, region, each["network"], each["subnetwork"])
    for group in wish["node_groups"]:
        capacity = group.get("capacity", {})
        if "id" in capacity:
            owner, _, name = capacity["id"].rpartition("/reservations/")
            yield (
                f"{owner or project}/zones/{zone}/reservations/{name.partition('/')[0]}",
                {"specificReservationRequired": True},
            )
        if "placement_policy" in capacity:
            yield f"{project}/regions/{region}/resourcePolicies/{capacity['placement_policy']}", {}


def _network(project: str, region: str, network: str, subnetwork: str) -> Iterator[tuple[str, dict[str, Any]]]:
    link = f"https://www.googleapis.com/compute/v1/{project}/global/networks/{network}"
    yield f"{project}/global/networks/{network}", {}
    yield f"{project}/regions/{region}/subnetworks/{subnetwork}", {"network": link}
