"""The parts of tools/googleprovider that need no provider: its names, what it is told, and what is kept of its requests."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.googleapi.server import GoogleApis, understood
from tools.googleprovider.provider import environment, read_beta, read_names
from tools.googleprovider.record import normalise
from tools.googleprovider.seeds import existing
from tools.judge.request import Request

PROJECT = "train-123456"
ACCOUNT = f"nodes@{PROJECT}.iam.gserviceaccount.com"
WISH: dict[str, Any] = {"project": PROJECT, "region": "us-east4", "zone": "us-east4-b", "node_groups": []}


def test_every_name_is_googles_and_stands_once() -> None:
    for rows in read_names().values():
        assert all(token.startswith("gcp:") for token in rows)
        assert all(name.startswith("google_") for name in rows.values())
        assert len(set(rows.values())) == len(rows)
    assert read_beta()["lacking"].keys() <= read_names()["resources"].keys()
    assert all(set(fields) <= set(read_beta()["lacking"][token]) for token, fields in read_beta()["accepted"].items())


def test_the_provider_is_told_the_names_and_where_google_is() -> None:
    told = environment("http://127.0.0.1:1")
    assert json.loads(told["GPUFABRIC_GOOGLE_NAMES"])["resources"]["google_compute_network"] == "gcp:compute/network:Network"
    assert {told["GPUFABRIC_GOOGLE_APIS"], told["HTTPS_PROXY"]} == {"http://127.0.0.1:1"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_record_does_not_depend_on_order_marks_and_members(order: int, tmp_path: Path) -> None:
    with GoogleApis(tmp_path / "google.sqlite", PROJECT) as apis:

        def ask(service: str, method: str, path: str, body: Any = None) -> None:
            target = f"/{service}.googleapis.com{path}?alt=json"
            found = apis.exchange(understood(method, target, json.dumps(body).encode() if body else b"", apis.account))
            assert found.status == 200, found.answer

        ask("iam", "POST", f"/v1/projects/{PROJECT}/serviceAccounts", {"accountId": "nodes"})
        for name in ["a", "b"][::order]:
            ask("compute", "POST", f"/compute/v1/projects/{PROJECT}/global/networks", {"name": name})
        roles = ["roles/logging.logWriter", "roles/monitoring.viewer"][::order]
        for count in (1, 2):
            bindings = [{"role": role, "members": [f"serviceAccount:{ACCOUNT}"]} for role in roles[:count]]
            body = {"policy": {"bindings": bindings, "etag": ["BwYA", "BwYB"][count - 1]}}
            ask("cloudresourcemanager", "POST", f"/v1/projects/{PROJECT}:setIamPolicy", body)
        ask("compute", "GET", f"/compute/v1/projects/{PROJECT}/global/networks/a")
        first, *rest = normalise(apis.exchanges)
    assert [(each.service, (each.json or {}).get("name")) for each in [first, *rest[:2]]] == [
        ("compute", "a"),
        ("compute", "b"),
        ("iam", None),
    ]
    policy = {"bindings": [{"role": role, "members": [f"serviceAccount:{ACCOUNT}"]} for role in sorted(roles)]}
    path = f"/v1/projects/{PROJECT}:setIamPolicy"
    assert rest[2:] == [Request("cloudresourcemanager", "POST", path, json={"policy": policy})]


def test_what_a_sample_takes_for_granted() -> None:
    network = {"network": "vpc", "subnetwork": "nodes", "pods_range": "pods", "services_range": "services"}
    capacity = {"id": "projects/owner/reservations/h100", "placement_policy": "together"}
    wish = {**WISH, "network": {"existing": network}, "node_groups": [{"capacity": capacity}]}
    subnet = f"projects/{PROJECT}/regions/us-east4/subnetworks/nodes"
    assert existing(wish) == [
        f"projects/{PROJECT}/global/networks/vpc",
        subnet,
        f"{subnet}/secondaryIpRanges/pods",
        f"{subnet}/secondaryIpRanges/services",
        "projects/owner/zones/us-east4-b/reservations/h100",
        f"projects/{PROJECT}/regions/us-east4/resourcePolicies/together",
    ]
    assert existing(WISH) == []
