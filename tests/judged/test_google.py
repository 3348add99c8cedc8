"""Google's discovery documents as the judge reads them: every method is found by its own path, and what a mistake is called."""

import re
from typing import Any

import pytest

from tools.judge.google.documents import Method, load
from tools.judge.google.model import GoogleModel
from tools.judge.google.references import GoogleBook, made_by, nested
from tools.judge.references import judge
from tools.judge.request import Record, Request
from tools.judge.shapes import UnknownOperationError
from tools.judge.walker import walk

APIS = (
    ("cloudresourcemanager", "v1"),
    ("compute", "v1"),
    ("container", "v1"),
    ("file", "v1"),
    ("iam", "v1"),
    ("lustre", "v1"),
    ("servicenetworking", "v1"),
    ("serviceusage", "v1"),
    ("storage", "v1"),
)
PROJECT = "projects/train-123456"
NETWORK = f"{PROJECT}/global/networks/vpc"
SUBNET = f"{PROJECT}/regions/us-east4/subnetworks/subnet"
POOLS = f"/v1/{PROJECT}/locations/us-east4-b/clusters/train/nodePools"


def post(service: str, path: str, body: Any) -> Request:
    return Request(service, "POST", path, json=body)


def mistakes(request: Request) -> list[tuple[str, str]]:
    return [(found.kind, found.says) for found in walk(GoogleModel().read(request))]


def missing(*requests: Request, existing: tuple[str, ...] = ()) -> list[str]:
    found = judge(Record("", {}, requests, existing), GoogleModel(), GoogleBook())
    return [each.says.removeprefix("no request before this one makes the ") for each in found if each.kind == "reference"]


@pytest.mark.parametrize(("api", "version"), APIS)
def test_every_method_is_found_by_its_own_path(api: str, version: str) -> None:
    document = load(api, version)
    for described in _all(document.content):
        path = document.base + re.sub(r"\{\+?\w+\}", "x1", described.get("flatPath", described["path"]))
        found = document.find(described["httpMethod"], path)
        assert found is not None, described["id"]
        # Some are told apart by what stands in a hole: the first that fits is as good, if it wants the same body.
        assert found[0].body == Method(api, described).body, described["id"]


def _all(resource: Any) -> list[Any]:
    inner = [each for below in resource.get("resources", {}).values() for each in _all(below)]
    return [*resource.get("methods", {}).values(), *inner]


@pytest.mark.parametrize(
    ("request_", "kind", "says"),
    [
        (post("compute", f"/compute/v1/{PROJECT}/global/networks", {"name": "vpc", "mtus": 1}), "unknown", "no member mtus"),
        (post("compute", f"/compute/v1/{PROJECT}/global/networks", {"name": "vpc", "mtu": "x"}), "type", "'x' is no integer"),
        (post("compute", f"/compute/v1/{PROJECT}/global/networks", {"name": "VPC"}), "pattern", "does not match"),
        (post("compute", f"/compute/v1/{PROJECT}/global/networks", {"name": "vpc", "mtu": 2**31}), "range", "is above"),
        (post("container", POOLS, {"nodePool": {"placementPolicy": {"type": "TIGHT"}}}), "enum", "'TIGHT' is none of"),
        (post("container", POOLS, {"nodePool": {"config": {"labels": {"a": 1}}}}), "type", "1 is no string"),
        (post("container", POOLS, {"nodePool": {"locations": "us-east4-b"}}), "type", "is no list"),
        (post("container", POOLS, {"nodePool": {"config": {"maxRunDuration": "1 h"}}}), "pattern", "does not match"),
        (post("lustre", f"/v1/{PROJECT}/locations/us-east4-b/instances", {"capacityGib": "18000"}), "required", "instanceId"),
        (Request("storage", "POST", "/storage/v1/b", {"predefinedAcl": "all"}, json={}), "enum", "'all' is none of"),
    ],
)
def test_what_a_mistake_is_called(request_: Request, kind: str, says: str) -> None:
    assert any(each == kind and says in text for each, text in mistakes(request_)), mistakes(request_)


def test_numbers_of_64_bits_are_texts_and_null_is_nothing() -> None:
    bucket = {"name": "ckpt", "softDeletePolicy": {"retentionDurationSeconds": "604800"}, "labels": None}
    assert mistakes(Request("storage", "POST", "/storage/v1/b", {"project": "p"}, json=bucket)) == []


def test_a_request_that_nobody_published() -> None:
    with pytest.raises(UnknownOperationError, match="compute has no method POST"):
        GoogleModel().read(post("compute", f"/compute/v1/{PROJECT}/global/teapots", {}))
    with pytest.raises(UnknownOperationError, match="Google publishes no API tea v1"):
        GoogleModel().read(post("tea", "/v1/pots", {}))


def test_things_go_by_their_paths() -> None:
    assert list(nested(f"{PROJECT}/locations/us-east4-b/clusters/train/nodePools/gpu")) == [
        f"{PROJECT}/locations/us-east4-b/clusters/train",
        f"{PROJECT}/locations/us-east4-b/clusters/train/nodePools/gpu",
    ]
    made = made_by(GoogleModel().read(post("container", POOLS, {"nodePool": {"name": "gpu"}})))
    assert made == [f"{POOLS.removeprefix('/v1/')}/gpu"]


def test_a_reference_is_a_path_or_a_name_with_a_rule() -> None:
    network = post("compute", f"/compute/v1/{PROJECT}/global/networks", {"name": "vpc"})
    subnet = {"name": "subnet", "network": f"https://www.googleapis.com/compute/v1/{NETWORK}", "ipCidrRange": "10.0.0.0/20"}
    in_region = post("compute", f"/compute/v1/{PROJECT}/regions/us-east4/subnetworks", subnet)
    assert missing(network, in_region) == []
    assert missing(in_region) == [f"network {NETWORK}"]
    given = [{"network": "vpc", "subnetwork": "subnet"}]
    pool = post("container", POOLS, {"nodePool": {"name": "gpu", "networkConfig": {"additionalNodeNetworkConfigs": given}}})
    cluster = f"{PROJECT}/locations/us-east4-b/clusters/train"
    assert missing(network, in_region, pool, existing=(cluster,)) == []
    assert missing(pool, existing=(cluster,)) == [f"network {NETWORK}", f"subnetwork {SUBNET}"]
    assert missing(network, in_region, pool) == [f"cluster {cluster}"]


def test_a_network_profile_belongs_to_a_zone() -> None:
    for name, found in (
        ("us-east4-b-vpc-roce", []),
        ("us-east4-vpc-roce", [f"{PROJECT}/global/networkProfiles/us-east4-vpc-roce"]),
    ):
        body = {"name": "rdma", "networkProfile": f"{PROJECT}/global/networkProfiles/{name}"}
        told = missing(post("compute", f"/compute/v1/{PROJECT}/global/networks", body))
        assert [each.partition(" ")[2] for each in told] == found
