"""The stand-in of Google's APIs, asked as Google's provider asks: what it refuses, what it adds, what a change takes along."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.googleapi.account import Account
from tools.googleapi.server import GoogleApis, understood
from tools.googleapi.store import Store
from tools.googleapi.troubles import STOCK_OUT, Trouble
from tools.judge.request import Request

PROJECT, ZONE = "train-123456", "us-east4-b"
GLOBAL = f"/compute/v1/projects/{PROJECT}/global"
REGION = f"/compute/v1/projects/{PROJECT}/regions/us-east4"
CLUSTERS = f"/v1/projects/{PROJECT}/locations/{ZONE}/clusters"
Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def account(tmp_path: Path) -> Account:
    store = Store(tmp_path / "google.sqlite")
    store.create()
    return Account(store, PROJECT)


@pytest.fixture
def ask(account: Account) -> Ask:
    def ask(service: str, method: str, path: str, body: Any = None, **query: str | list[str]) -> tuple[int, Any]:
        answer, _ = account.answer(Request(service, method, path, query, json=body))
        return answer.status, answer.body

    return ask


def vpc(ask: Ask, name: str = "vpc") -> None:
    assert ask("compute", "POST", f"{GLOBAL}/networks", {"name": name, "autoCreateSubnetworks": False})[0] == 200


def subnet(ask: Ask) -> None:
    body = {"name": "subnet", "network": f"https://www.googleapis.com{GLOBAL}/networks/vpc", "ipCidrRange": "10.0.0.0/20"}
    status, answer = ask("compute", "POST", f"{REGION}/subnetworks", body)
    assert status == 200, answer


def cluster(ask: Ask) -> None:
    vpc(ask)
    subnet(ask)
    body = {
        "name": "train",
        "initialNodeCount": 1,
        "network": f"projects/{PROJECT}/global/networks/vpc",
        "subnetwork": "subnet",
    }
    status, answer = ask("container", "POST", CLUSTERS, {"cluster": body})
    assert status == 200, answer


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"name": "vpc", "mtuu": 1500}, "Network has no member mtuu"),
        ({"name": "vpc", "mtu": "big"}, "'big' is no integer"),
        ({"name": "Vpc"}, "does not match"),
        ({"name": "vpc", "routingConfig": {"routingMode": "ZONAL"}}, "'ZONAL' is none of GLOBAL, REGIONAL"),
        ({"name": "vpc", "networkProfile": f"projects/{PROJECT}/global/networkProfiles/us-east4-vpc-roce"}, "was not found"),
    ],
)
def test_what_the_published_api_does_not_allow_is_refused_in_googles_form(body: Any, says: str, ask: Ask) -> None:
    status, answer = ask("compute", "POST", f"{GLOBAL}/networks", body)
    assert status == 400
    assert says in answer["error"]["message"]
    assert answer["error"]["errors"][0]["message"] == answer["error"]["message"]


def test_what_a_request_names_must_exist_and_lie_in_the_region(ask: Ask) -> None:
    vpc(ask)
    subnet(ask)
    pool = {"name": "p", "networkConfig": {"additionalNodeNetworkConfigs": [{"network": "vpc", "subnetwork": "subnet"}]}}
    assert ask("container", "POST", f"{CLUSTERS}/train/nodePools", {"nodePool": pool})[0] == 404, "no cluster"
    elsewhere = f"/v1/projects/{PROJECT}/locations/us-west1-a/clusters"
    body = {"name": "train", "network": "vpc", "subnetwork": "subnet"}
    status, answer = ask("container", "POST", elsewhere, {"cluster": body})
    assert (status, answer["error"]["code"]) == (400, 400)
    assert f"projects/{PROJECT}/regions/us-west1/subnetworks/subnet" in answer["error"]["message"]


RDMA = f"https://www.googleapis.com{GLOBAL}/networks/rdma"
TCP = {"name": "rule", "network": RDMA, "allowed": [{"IPProtocol": "tcp"}]}
FLEX = {"name": "flex", "config": {"flexStart": True}}


@pytest.mark.parametrize(
    ("service", "path", "body", "says"),
    [
        ("compute", f"{GLOBAL}/firewalls", TCP, "Firewall rules are not supported"),
        (
            "compute",
            f"/compute/v1/projects/{PROJECT}/regions/us-west1/subnetworks",
            {"name": "rail-0", "network": RDMA, "ipCidrRange": "10.1.0.0/24"},
            "belongs to us-east4-b: a subnetwork in us-west1",
        ),
        (
            "compute",
            f"{REGION}/subnetworks",
            {"name": "again", "network": f"{RDMA[:-4]}vpc", "ipCidrRange": "10.0.8.0/24"},
            "10.0.8.0/24 conflicts with 10.0.0.0/20",
        ),
        ("container", f"{CLUSTERS}/train/nodePools", {"nodePool": {"name": "p", "locations": ["us-west1-a"]}}, "is not in"),
        (
            "container",
            f"{CLUSTERS}/train/nodePools",
            {"nodePool": {"name": "p", "networkConfig": {"additionalNodeNetworkConfigs": [{"network": "vpc"}]}}},
            "need a cluster with multi-networking",
        ),
        ("container", f"{CLUSTERS}/train/nodePools", {"nodePool": FLEX}, "NO_RESERVATION"),
        (
            "container",
            f"{CLUSTERS}/train/nodePools",
            {
                "nodePool": {
                    "name": "p",
                    "config": {"spot": True, "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}},
                }
            },
            "Spot nodes cannot use a reservation",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(service: str, path: str, body: Any, says: str, ask: Ask) -> None:
    cluster(ask)
    profile = f"projects/{PROJECT}/global/networkProfiles/{ZONE}-vpc-roce"
    assert ask("compute", "POST", f"{GLOBAL}/networks", {"name": "rdma", "networkProfile": profile})[0] == 200
    status, answer = ask(service, "POST", path, body)
    assert status == 400
    assert says in answer["error"]["message"], answer


def test_a_network_of_rdma_and_its_policy_belong_together(ask: Ask) -> None:
    vpc(ask)
    policies = f"{REGION}/firewallPolicies"
    assert ask("compute", "POST", policies, {"name": "roce", "policyType": "RDMA_ROCE_POLICY"})[0] == 200
    body = {"name": "a", "attachmentTarget": f"{RDMA[:-4]}vpc"}
    status, answer = ask("compute", "POST", f"{policies}/roce/addAssociation", body)
    assert status == 400
    assert "cannot be associated" in answer["error"]["message"]


def test_an_operation_is_done_when_it_is_asked_for_again(ask: Ask) -> None:
    _, first = ask("compute", "POST", f"{GLOBAL}/networks", {"name": "vpc"})
    assert first["status"] == "RUNNING"
    where = first["selfLink"].partition("www.googleapis.com")[2]
    seen = [ask("compute", "GET", where)[1]["status"] for _ in range(2)]
    assert seen == ["RUNNING", "DONE"]
    found = ask("compute", "GET", f"{GLOBAL}/networks/vpc")[1]
    assert (found["mtu"], found["routingConfig"]["routingMode"]) == (1460, "REGIONAL"), "Google's defaults"


def test_what_is_in_use_is_not_deleted(ask: Ask) -> None:
    vpc(ask)
    subnet(ask)
    status, answer = ask("compute", "DELETE", f"{GLOBAL}/networks/vpc")
    assert (status, answer["error"]["errors"][0]["reason"]) == (400, "resourceInUseByAnotherResource")
    assert ask("compute", "DELETE", f"{REGION}/subnetworks/subnet")[0] == 200
    assert ask("compute", "DELETE", f"{GLOBAL}/networks/vpc")[0] == 200
    assert ask("compute", "GET", f"{GLOBAL}/networks/vpc")[0] == 404


def test_a_cluster_begins_with_a_pool_and_takes_its_pools_along(account: Account, ask: Ask) -> None:
    cluster(ask)
    status, answer = ask(
        "container", "POST", f"{CLUSTERS}/train/nodePools", {"nodePool": {"name": "gpu", "initialNodeCount": 2}}
    )
    assert status == 200, answer
    found = ask("container", "GET", f"{CLUSTERS}/train")[1]
    assert [each["name"] for each in found["nodePools"]] == ["default-pool", "gpu"]
    groups = f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/instanceGroupManagers"
    assert [each["targetSize"] for each in ask("compute", "GET", groups)[1]["items"]] == [1, 2]
    assert ask("container", "DELETE", f"{CLUSTERS}/train")[0] == 200
    assert [path for path in account.paths() if "instanceGroup" in path or "clusters" in path] == []


def test_no_machines_is_what_the_operation_says_at_its_end(account: Account, ask: Ask) -> None:
    cluster(ask)
    account.trouble(STOCK_OUT)
    _, operation = ask("container", "POST", f"{CLUSTERS}/train/nodePools", {"nodePool": {"name": "gpu"}})
    where = operation["selfLink"].partition(".com")[2]
    ended = [ask("container", "GET", where)[1] for _ in range(2)][-1]
    assert ended["status"] == "DONE"
    assert "ZONE_RESOURCE_POOL_EXHAUSTED" in ended["error"]["message"]
    assert ask("container", "GET", f"{CLUSTERS}/train/nodePools/gpu")[0] == 404
    assert ask("container", "POST", f"{CLUSTERS}/train/nodePools", {"nodePool": {"name": "gpu"}})[0] == 200


def test_a_trouble_comes_as_often_as_wished(account: Account, ask: Ask) -> None:
    account.trouble(Trouble("compute networks.insert", "quotaExceeded", "Quota exceeded", 403, times=2))
    asked = [ask("compute", "POST", f"{GLOBAL}/networks", {"name": "vpc"}) for _ in range(3)]
    assert [status for status, _ in asked] == [403, 403, 200]


def test_the_account_outlives_the_server(tmp_path: Path) -> None:
    body = b'{"name": "vpc"}'
    for found in (200, 409):
        with GoogleApis(tmp_path / "google.sqlite", PROJECT) as apis:
            target = f"/compute.googleapis.com{GLOBAL}/networks?alt=json"
            assert apis.exchange(understood("POST", target, body, apis.account)).status == found


def test_a_project_goes_by_its_number_too(account: Account) -> None:
    network = f"projects%2F{account.number}%2Fglobal%2Fnetworks%2Fv"
    target = f"/servicenetworking.googleapis.com/v1/services/s/connections?network={network}"
    request = understood("GET", target, b"", account)
    assert (request.service, request.query) == ("servicenetworking", {"network": f"projects/{PROJECT}/global/networks/v"})


def test_a_principal_is_kept_as_it_was_written(account: Account) -> None:
    member = f"principal://iam.googleapis.com/projects/{account.number}/locations/global/workloadIdentityPools/p/subject/s"
    body = json.dumps({"bindings": [{"role": "roles/storage.objectUser", "members": [member]}]}).encode()
    request = understood("PUT", "/storage.googleapis.com/storage/v1/b/weights/iam", body, account)
    assert request.json["bindings"][0]["members"] == [member]


def test_an_api_that_is_off_says_so_of_itself_and_answers_nothing(account: Account, ask: Ask) -> None:
    with account.store.transaction() as ledger:
        ledger.put("serviceusage", f"projects/{PROJECT}/services/file.googleapis.com", {"state": "DISABLED"})
    names = [f"projects/{PROJECT}/services/{api}.googleapis.com" for api in ("compute", "file")]
    status, answer = ask("serviceusage", "GET", f"/v1/projects/{PROJECT}/services:batchGet", names=names)
    assert status == 200
    assert [each["state"] for each in answer["services"]] == ["ENABLED", "DISABLED"]
    status, answer = ask("file", "GET", f"/v1/projects/{PROJECT}/locations/{ZONE}/instances/home")
    assert (status, answer["error"]["details"][0]["reason"]) == (403, "SERVICE_DISABLED")


def test_a_list_over_all_places_finds_a_name_where_it_is(account: Account, ask: Ask) -> None:
    for zone in ("us-east4-a", "us-east4-b"):
        account.hold(f"projects/{PROJECT}/zones/{zone}/machineTypes/a3-megagpu-8g", guestCpus=208)
    account.hold(f"projects/{PROJECT}/zones/us-east4-c/machineTypes/e2-standard-4", guestCpus=4)
    everywhere = f"/compute/v1/projects/{PROJECT}/aggregated/machineTypes"
    status, answer = ask("compute", "GET", everywhere, filter='name="a3-megagpu-8g"')
    assert (status, sorted(answer["items"])) == (200, ["zones/us-east4-a", "zones/us-east4-b"])
    assert len(ask("compute", "GET", everywhere)[1]["items"]) == 3


def test_another_project_is_not_there(ask: Ask) -> None:
    assert ask("compute", "GET", "/compute/v1/projects/somebody-else")[0] == 404


def test_what_nobody_taught_it_is_said(ask: Ask) -> None:
    vpc(ask)
    status, answer = ask("compute", "POST", f"{GLOBAL}/networks/vpc/switchToCustomMode")
    assert status == 501
    assert "compute networks.switchToCustomMode" in answer["error"]["message"]
    assert ask("compute", "POST", f"{GLOBAL}/teapots", {})[0] == 404
