"""What a cluster lacks, said before anything is made: the exact lines."""

import socket
from pathlib import Path
from typing import Any

import pytest

from gpufabric.preflight import preflight_kubernetes
from gpufabric.spec import SpecError
from tests.preflight.cluster import NODES, REVIEWS, FakeCluster, kubeconfig, node, status
from tests.spec.specs import CPU, H100, changed, plan_of

GATE = "localhost/gpufabric/gate:1"
GPUS = {"nvidia.com/gpu": "8", "rdma/ib": "1k"}
LACK = "cluster.existing: this account may not"
ASK = "ask for these permissions, or use another context"
HOST = "add a small untainted CPU node without the groups' labels"
NO_HOST = "node_groups: no node outside the groups can run the gate's coordinator"
DEVICES = "check the device plugin there (kubectl describe node), or the accelerators and fabric of the group"
LABEL = "label more nodes, ask for fewer, or write validation.wait: false (the verdict is then pending)"
LOAD = "load it there (python3 -m tools.image howto), or push it to a registry and name it so"


CANNOT = 'cannot list resource "nodes" in API group ""'


@pytest.fixture
def healthy(cluster: FakeCluster) -> FakeCluster:
    cluster.nodes = [node("n1", "train"), node("n2", "train"), node("s1", "system")]
    return cluster


def problems(cluster: FakeCluster, spec: dict[str, Any], tmp_path: Path) -> list[str]:
    file = kubeconfig(tmp_path / "config", cluster.url)
    try:
        preflight_kubernetes(plan_of(changed(spec, cluster={"existing": {"kubeconfig": str(file)}})))
    except SpecError as error:
        return [line.replace(cluster.url, "SERVER") for line in str(error).split("\n")]
    return []


def test_a_healthy_cluster_has_what_it_needs(healthy: FakeCluster, tmp_path: Path) -> None:
    assert problems(healthy, CPU, tmp_path) == []


def test_nothing_is_changed(healthy: FakeCluster, tmp_path: Path) -> None:
    assert problems(healthy, CPU, tmp_path) == []
    assert {(method, at) for method, at, _ in healthy.asked} == {("GET", "/version"), ("POST", REVIEWS), ("GET", NODES)}
    assert len([at for _, at, _ in healthy.asked if at == REVIEWS]) == 12, "a review asks, it makes nothing"


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    with pytest.raises(SpecError) as caught:
        preflight_kubernetes(plan_of(changed(CPU, cluster={"existing": {"kubeconfig": str(file)}})))
    assert str(caught.value) == (
        f"cluster.existing: the API server does not answer: http://127.0.0.1:{port}: [Errno 111] Connection refused; "
        "check the context, your VPN and firewalls"
    )


@pytest.mark.parametrize(
    ("at", "answer", "line"),
    [
        (
            "/version",
            status(401, "Unauthorized", "Unauthorized"),
            "cluster.existing: the API server refused this account: Unauthorized; log in again, or use another context",
        ),
        (
            "/version",
            status(403, "Forbidden", 'forbidden: User "u" cannot get path "/version"'),
            (
                'cluster.existing: the API server refused this account: forbidden: User "u" cannot get path "/version"; '
                "log in again, or use another context"
            ),
        ),
        (
            "/version",
            (404, {"detail": "Not Found"}),
            (
                "cluster.existing: the server does not answer like Kubernetes: GET /version: 404 Not Found: "
                '{"detail": "Not Found"}; check the server of the context'
            ),
        ),
        (
            "/version",
            (200, {"hello": "world"}),
            (
                "cluster.existing: the server does not answer like Kubernetes: GET /version names no version; "
                "check the server of the context"
            ),
        ),
        (
            "/version",
            (200, b"<html>login</html>"),
            (
                "cluster.existing: the server does not answer like Kubernetes: GET /version: NotJson: "
                "the server answered b'<html>login</html>'; check the server of the context"
            ),
        ),
        (
            "/version",
            status(503, "ServiceUnavailable", "no etcd"),
            (
                "cluster.existing: the server does not answer like Kubernetes: GET /version: 503 ServiceUnavailable: no etcd; "
                "check the server of the context"
            ),
        ),
        (
            REVIEWS,
            status(401, "Unauthorized", "Unauthorized"),
            "cluster.existing: the API server refused this account: Unauthorized; log in again, or use another context",
        ),
        (
            NODES,
            status(
                403,
                "Forbidden",
                'nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope',
            ),
            (
                "cluster.existing: this account may not list nodes in the whole cluster; "
                "ask for that permission, or use another context"
            ),
        ),
    ],
    ids=["401", "403", "another server", "another API", "a login page", "broken", "401 after the version", "no nodes"],
)
def test_a_server_that_refuses(healthy: FakeCluster, tmp_path: Path, at: str, answer: Any, line: str) -> None:
    healthy.errors[at] = answer
    assert problems(healthy, CPU, tmp_path) == [line]


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ({"major": "1", "minor": "30", "gitVersion": "v1.30.2"}, "Kubernetes v1.30.2 is too old"),
        ({"major": "1", "minor": "29+", "gitVersion": "v1.29.4-gke.1"}, "Kubernetes v1.29.4-gke.1 is too old"),
    ],
)
def test_an_old_cluster(healthy: FakeCluster, tmp_path: Path, version: dict[str, str], found: str) -> None:
    healthy.version = version
    assert problems(healthy, CPU, tmp_path) == [
        (
            f"cluster.existing: {found}: the gate's Job needs 1.31 or newer; upgrade the cluster "
            "(Kubernetes, Job successPolicy, 2024-08)"
        )
    ]


@pytest.mark.parametrize(("major", "minor"), [("1", "31"), ("1", "31+"), ("2", "0")])
def test_a_cluster_that_is_new_enough(healthy: FakeCluster, tmp_path: Path, major: str, minor: str) -> None:
    healthy.version = {"major": major, "minor": minor, "gitVersion": f"v{major}.{minor}"}
    assert problems(healthy, CPU, tmp_path) == []


def test_missing_permissions_are_listed(healthy: FakeCluster, tmp_path: Path) -> None:
    healthy.denied = {"create namespaces", "create jobs", "create clusterroles", "patch nodes"}
    assert problems(healthy, CPU, tmp_path) == [
        f"{LACK} create namespaces, create jobs.batch, create clusterroles.rbac.authorization.k8s.io, patch nodes; {ASK}"
    ]


def test_a_gate_that_is_kept_running_needs_more(healthy: FakeCluster, tmp_path: Path) -> None:
    healthy.denied = {"create deployments", "create validatingadmissionpolicies", "patch leases"}
    assert problems(healthy, CPU, tmp_path) == []
    assert problems(healthy, changed(CPU, validation__keep=True), tmp_path) == [
        (
            f"{LACK} create deployments.apps, create validatingadmissionpolicies.admissionregistration.k8s.io, "
            f"patch leases.coordination.k8s.io; {ASK}"
        )
    ]


def test_disks_that_are_formatted_need_more(healthy: FakeCluster, tmp_path: Path) -> None:
    healthy.denied = {"create daemonsets", "create validatingadmissionpolicies", "create storageclasses"}
    assert problems(healthy, CPU, tmp_path) == []
    asked: dict[str, Any] = {"disk_image": "ghcr.io/acme/disks:1"}
    lack = f"{LACK} create daemonsets.apps, create validatingadmissionpolicies.admissionregistration.k8s.io"
    assert problems(healthy, changed(CPU, local_nvme={"train": asked}), tmp_path) == [f"{lack}; {ASK}"]
    both = changed(CPU, validation__keep=True, local_nvme={"train": {**asked, "local_volume": True}})
    (said,) = problems(healthy, both, tmp_path)
    assert said.count("create validatingadmissionpolicies") == 1
    assert "create storageclasses.storage.k8s.io" in said


def test_a_run_that_was_raised_may_drain(healthy: FakeCluster, tmp_path: Path) -> None:
    healthy.denied = {"create pods/eviction"}
    assert problems(healthy, CPU, tmp_path) == []
    assert problems(healthy, changed(CPU, validation__run=2), tmp_path) == [f"{LACK} create pods/eviction; {ASK}"]


@pytest.mark.parametrize(
    ("names", "found", "fix"),
    [
        ([], "0 nodes are labelled pool=train, nodes asks for exactly 2", LABEL),
        (["n1"], "1 node is labelled pool=train (n1), nodes asks for exactly 2", LABEL),
        (
            ["n3", "n1", "n2"],
            "3 nodes are labelled pool=train (n1, n2, n3), nodes asks for exactly 2",
            "write nodes: 3, or a label that fewer nodes have",
        ),
    ],
)
def test_another_number_of_nodes(cluster: FakeCluster, tmp_path: Path, names: list[str], found: str, fix: str) -> None:
    cluster.nodes = [*(node(name, "train") for name in names), node("s1", "system")]
    assert problems(cluster, CPU, tmp_path) == [f"node_groups[0].node_selector: {found}; {fix}"]


def test_a_long_list_of_nodes_is_cut(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [*(node(f"n{i:03}", "train") for i in range(200)), node("s1")]
    (line,) = problems(cluster, CPU, tmp_path)
    assert (
        "200 nodes are labelled pool=train (n000, n001, n002, n003, n004, n005, n006, n007, n008, n009, ... (200 nodes))"
        in line
    )


def test_fewer_nodes_are_no_problem_where_they_may_come_later(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [node("n1", "train"), node("s1", "system")]
    assert problems(cluster, changed(CPU, validation__wait=False), tmp_path) == []
    cluster.nodes += [node("n2", "train"), node("n3", "train")]
    assert len(problems(cluster, changed(CPU, validation__wait=False), tmp_path)) == 1, "more are one all the same"


def test_a_node_that_is_down_counts_and_is_waited_for(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [node("n1", "train"), node("n2", "train", ready=False), node("s1", "system")]
    assert problems(cluster, CPU, tmp_path) == []


def test_labels_are_matched_whole(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [
        node("n1", "train", labels={"rack": "1"}),
        node("n2", "train", labels={"rack": "2"}),
        node("n3", "training", labels={"rack": "1"}),
        node("s1"),
    ]
    spec = changed(CPU, group__node_selector={"pool": "train", "rack": "1"})
    assert problems(cluster, spec, tmp_path) == [
        f"node_groups[0].node_selector: 1 node is labelled pool=train,rack=1 (n1), nodes asks for exactly 2; {LABEL}"
    ]


def test_gpus_that_are_not_allocatable(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [
        node("n1", "train", allocatable=GPUS),
        node("n2", "train", allocatable={"nvidia.com/gpu": "4"}),
        node("s1", "system"),
    ]
    assert problems(cluster, H100, tmp_path) == [
        f"node_groups[0]: fewer than 8 of nvidia.com/gpu allocatable on n2; {DEVICES}",
        f"node_groups[0]: fewer than 1 of rdma/ib allocatable on n2; {DEVICES}",
    ]


@pytest.mark.parametrize(
    ("quantity", "enough"),
    [
        ("8", True),
        ("7", False),
        ("1k", True),
        ("0", False),
        ("8.0", True),
        ("7999m", False),
        ("1Ki", True),
        ("many", False),
        (9, True),
    ],
)
def test_quantities_are_read_as_the_api_writes_them(cluster: FakeCluster, tmp_path: Path, quantity: Any, enough: bool) -> None:
    """A shared RDMA device plugin offers 1000, which comes as 1k."""
    gpus = {"nvidia.com/gpu": quantity, "rdma/ib": "1k"}
    cluster.nodes = [node("n1", "train", allocatable=gpus), node("n2", "train", allocatable=gpus), node("s1")]
    assert problems(cluster, H100, tmp_path) == (
        [] if enough else [f"node_groups[0]: fewer than 8 of nvidia.com/gpu allocatable on n1, n2; {DEVICES}"]
    )


TAINT = {"key": "acme/gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("outside", "why"),
    [
        ([], "every node is in a group"),
        ([node("s1", taints=[TAINT])], "s1 is tainted"),
        ([node("s1", taints=[{**TAINT, "effect": "NoExecute"}])], "s1 is tainted"),
        ([node("s1", unschedulable=True)], "s1 is cordoned"),
        ([node("s1", taints=[TAINT]), node("s2", unschedulable=True)], "s1 is tainted, s2 is cordoned"),
    ],
)
def test_no_place_for_the_coordinator(cluster: FakeCluster, tmp_path: Path, outside: list[Any], why: str) -> None:
    cluster.nodes = [node("n1", "train"), node("n2", "train"), *outside]
    assert problems(cluster, CPU, tmp_path) == [f"{NO_HOST} ({why}); {HOST}"]


@pytest.mark.parametrize(
    "host",
    [
        node("s1"),
        node("s1", ready=False),  # the coordinator waits for it
        node("s1", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}], ready=False),
        node("s1", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
    ],
    ids=["open", "not Ready", "not Ready by taint", "preferably not"],
)
def test_a_place_for_the_coordinator(cluster: FakeCluster, tmp_path: Path, host: Any) -> None:
    cluster.nodes = [node("n1", "train"), node("n2", "train"), host]
    assert problems(cluster, CPU, tmp_path) == []


def test_a_node_of_any_group_is_no_place_for_a_coordinator(cluster: FakeCluster, tmp_path: Path) -> None:
    other = {**CPU["node_groups"][0], "name": "other", "node_selector": {"pool": "other"}}
    cluster.nodes = [node(f"{pool}{i}", pool) for pool in ("train", "other") for i in (1, 2)]
    spec = {**CPU, "node_groups": [CPU["node_groups"][0], other]}
    assert problems(cluster, spec, tmp_path) == [f"{NO_HOST} (every node is in a group); {HOST}"]


LOCAL = changed(CPU, validation__image=GATE)


def test_a_local_image_is_on_every_node_that_runs_it(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [node(name, pool, images=(GATE,)) for name, pool in (("n1", "train"), ("n2", "train"), ("s1", ""))]
    assert problems(cluster, LOCAL, tmp_path) == []
    cluster.nodes.append(node("s2"))
    assert problems(cluster, LOCAL, tmp_path) == [], "one place for the coordinator is enough"


def test_a_local_image_that_is_missing(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes = [node("n1", "train", images=(GATE,)), node("n2", "train", images=("localhost/other:1",)), node("s1")]
    assert problems(cluster, LOCAL, tmp_path) == [f"validation.image: {GATE} is not on n2, s1; {LOAD}"]


def test_a_node_with_many_images_may_hold_one_that_it_does_not_list(cluster: FakeCluster, tmp_path: Path) -> None:
    many = tuple(f"registry.example/image:{i}" for i in range(50))
    cluster.nodes = [node(name, pool, images=many) for name, pool in (("n1", "train"), ("n2", "train"), ("s1", ""))]
    assert problems(cluster, LOCAL, tmp_path) == []


def test_an_image_of_a_registry_is_not_looked_for(healthy: FakeCluster, tmp_path: Path) -> None:
    assert problems(healthy, CPU, tmp_path) == []


def test_all_findings_come_together(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.version = {"major": "1", "minor": "30", "gitVersion": "v1.30.0"}
    cluster.denied = {"create jobs"}
    cluster.nodes = [node("n1", "train", allocatable={"nvidia.com/gpu": "8"})]
    found = problems(cluster, changed(H100, validation__image=GATE), tmp_path)
    assert [line.partition(":")[0] for line in found] == [
        "cluster.existing",
        "cluster.existing",
        "node_groups[0].node_selector",
        "node_groups[0]",
        "node_groups",
        "validation.image",
    ]


def test_an_unusable_kubeconfig_is_a_problem_of_the_spec(tmp_path: Path) -> None:
    file = tmp_path / "none"
    with pytest.raises(SpecError) as caught:
        preflight_kubernetes(plan_of(changed(CPU, cluster={"existing": {"kubeconfig": str(file)}})))
    assert str(caught.value) == (
        f"cluster.existing: {file}: No such file or directory; set KUBECONFIG or cluster.existing.kubeconfig"
    )
