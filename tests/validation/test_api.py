"""The Kubernetes client over real HTTP on loopback: retries, errors that name what is missing, paging."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gpufabric.validation.api import Api, ApiError, path
from tests.validation.fake_api import NAMESPACE, Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def api(cluster: Cluster, pauses: list[float]) -> Api:
    return Api(cluster.url, None, lambda: {"Authorization": "Bearer t"}, sleep=pauses.append)


def test_paths() -> None:
    assert path("nodes") == "/api/v1/nodes"
    assert path("pods", "a", namespace="x", sub="log") == "/api/v1/namespaces/x/pods/a/log"
    assert path("jobs", "a/b", namespace="x", group="batch") == "/apis/batch/v1/namespaces/x/jobs/a%2Fb"


def test_get_find_list_patch_delete(cluster: Cluster, api: Api) -> None:
    for number in range(3):
        cluster.node(f"n{number}", labels={"zone": str(number % 2)})
    assert api.get(path("nodes", "n1"))["metadata"]["name"] == "n1"
    assert api.find(path("nodes", "nix")) is None
    assert [each["metadata"]["name"] for each in api.list(path("nodes"), labels="zone=0")] == ["n0", "n2"]
    api.merge_patch(path("nodes", "n1"), {"metadata": {"labels": {"zone": None, "new": "1"}}}, "gate")
    assert cluster.objects["/api/v1/nodes/n1"]["metadata"]["labels"] == {"pool": "train", "new": "1"}
    assert cluster.requests[-1].content_type == "application/merge-patch+json"
    assert api.delete(path("nodes", "n1")) is True
    assert cluster.requests[-1].body["propagationPolicy"] == "Background"
    assert api.delete(path("nodes", "n1")) is False


def test_pages(cluster: Cluster, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufabric.validation.api._PAGE", 4)
    for number in range(10):
        cluster.node(f"n{number}")
    assert len(api.list(path("nodes"))) == 10
    assert len(cluster.asked("GET", "nodes")) == 3


def test_apply_creates_and_updates(cluster: Cluster, api: Api) -> None:
    at = path("configmaps", "a", namespace=NAMESPACE)
    for value in ("1", "2"):
        api.apply(at, {"metadata": {"name": "a"}, "data": {"k": value}}, "gate")
    assert cluster.objects[at]["data"] == {"k": "2"}
    assert cluster.requests[-1].content_type == "application/apply-patch+yaml"


def test_logs(cluster: Cluster, api: Api) -> None:
    cluster.logs["judge"] = "line\n"
    assert api.log(NAMESPACE, "p", "judge", tail_lines=5) == "line\n"


def test_logs_are_tried_once(cluster: Cluster, api: Api, pauses: list[float]) -> None:
    """A dead node's kubelet does not answer; waiting for it would hide that the node is dead."""
    cluster.failures = [(500, "no route to host")]
    with pytest.raises(ApiError, match="no route to host"):
        api.log(NAMESPACE, "p", "judge", tail_lines=5)
    assert pauses == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_reads_are_tried_again_with_growing_pauses(cluster: Cluster, api: Api, pauses: list[float], status: int) -> None:
    cluster.node("n0")
    cluster.failures = [(status, "later")] * 3
    assert api.get(path("nodes", "n0"))
    assert pauses == [0.2, 0.4, 0.8]


def test_tries_are_bounded(cluster: Cluster, api: Api, pauses: list[float]) -> None:
    cluster.failures = [(503, "etcd is away")] * 50
    with pytest.raises(ApiError, match="503 InternalError: etcd is away") as caught:
        api.get(path("nodes"))
    assert (caught.value.status, len(pauses)) == (503, 4)


def test_a_create_is_repeated_only_if_it_cannot_have_happened(cluster: Cluster, api: Api) -> None:
    cluster.failures = [(429, "slow down")]
    api.create(path("pods", namespace=NAMESPACE), {"metadata": {"name": "a"}})
    cluster.failures = [(500, "who knows")]
    with pytest.raises(ApiError, match="who knows"):
        api.create(path("pods", namespace=NAMESPACE), {"metadata": {"name": "b"}})
    assert len(cluster.asked("POST", "pods")) == 3


def test_missing_permissions_are_named(cluster: Cluster, api: Api, pauses: list[float]) -> None:
    cluster.forbidden = {("list", "nodes"), ("create", "jobs")}
    with pytest.raises(ApiError) as caught:
        api.list(path("nodes"))
    assert caught.value.missing_permission == "list nodes in the whole cluster"
    with pytest.raises(ApiError) as caught:
        api.create(path("jobs", namespace=NAMESPACE, group="batch"), {"metadata": {"name": "a"}})
    assert caught.value.missing_permission == f"create jobs.batch in namespace {NAMESPACE}"
    assert pauses == []


def test_no_server(pauses: list[float]) -> None:
    api = Api("http://127.0.0.1:9", None, dict, sleep=pauses.append)
    with pytest.raises(ApiError, match="Unreachable") as caught:
        api.get("/api/v1/nodes")
    assert (caught.value.status, len(pauses)) == (0, 4)


def test_headers_are_asked_for_each_time(cluster: Cluster) -> None:
    tokens = iter("ab")
    seen: list[Mapping[str, str]] = []

    def headers() -> Mapping[str, str]:
        seen.append({"Authorization": f"Bearer {next(tokens)}"})
        return seen[-1]

    api = Api(cluster.url, None, headers)
    api.list(path("nodes"))
    api.list(path("nodes"))
    assert [each["Authorization"] for each in seen] == ["Bearer a", "Bearer b"]


def test_outside_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ApiError, match="no API server in the environment"):
        Api.in_cluster(tmp_path)


def test_answers_that_are_not_json(cluster: Cluster, api: Api) -> None:
    cluster.logs["x"] = "<html>"
    with pytest.raises(ApiError, match="NotJson"):
        api.get(path("pods", "p", namespace=NAMESPACE, sub="log"), {"container": "x"})
