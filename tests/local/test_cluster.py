"""The local cluster does what a real one does, breaks where it is told to, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.local.conftest import LocalCluster, cli
from tools.folders import REPOSITORY, state_folder
from tools.localcluster import processes, registry
from tools.localcluster.addresses import Addresses
from tools.localcluster.api import Api
from tools.localcluster.cluster import Cluster, folder_of
from tools.localcluster.daemon import Daemon
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until

pytestmark = pytest.mark.local

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"

SERVE = "import os; os.chdir('/tmp'); open('blob', 'wb').write(bytes(4 << 20)); import runpy, sys; \
sys.argv = ['http.server', '8080']; runpy.run_module('http.server', run_name='__main__')"

# Prints Mbit/s. The name takes a moment to appear in the DNS after the pod has an address.
FETCH = """
import time, urllib.request
end = time.monotonic() + 30
while True:
    try:
        started = time.monotonic()
        size = len(urllib.request.urlopen("http://server.peers.default.svc.cluster.local:8080/blob", timeout=20).read())
        break
    except OSError:
        if time.monotonic() > end:
            raise
        time.sleep(0.2)
print(size * 8 / 1e6 / (time.monotonic() - started))
"""


@pytest.fixture(scope="module")
def described(cluster: LocalCluster) -> Cluster:
    return existing(cluster.name)


@pytest.fixture(scope="module")
def server(cluster: LocalCluster, described: Cluster) -> Iterator[None]:
    """A web server on n1, reachable through a headless Service."""
    api = described.api
    api.create(SERVICES, {"metadata": {"name": "peers"}, "spec": {"clusterIP": "None", "selector": {"app": "peers"}}})
    api.create(PODS, pod("server", "n1", cluster.image, SERVE))
    yield
    api.delete(f"{PODS}/server")
    api.delete(f"{SERVICES}/peers")


def pod(name: str, node: str, image: str, program: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"app": "peers"}},
        "spec": {
            "nodeName": node,
            "hostname": name,
            "subdomain": "peers",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": image, "command": ["python3", "-c", program]}],
        },
    }


def fetch_mbits_per_s(cluster: LocalCluster, api: Api, name: str) -> float:
    """Fetch the server's blob from a pod on the other worker."""
    api.create(PODS, pod(name, "n0", cluster.image, FETCH))
    wait_until(f"pod {name} to end", lambda: phase(api, name) in ("Succeeded", "Failed"), 60)
    log = api.text(f"{PODS}/{name}/log")
    ended = phase(api, name)
    api.delete(f"{PODS}/{name}")
    assert ended == "Succeeded", log
    return float(log)


def phase(api: Api, name: str) -> str:
    return str(api.get(f"{PODS}/{name}")["status"]["phase"])


def test_nodes_are_ready_and_labelled(described: Cluster) -> None:
    pools = {name: node["metadata"]["labels"]["gpufabric.dev/pool"] for name, node in described.api.nodes().items()}
    assert pools == {"system": "system", "n0": "train", "n1": "train"}
    assert all("taints" not in node["spec"] for node in described.api.nodes().values())


def test_a_second_up_finds_everything_in_order(cluster: LocalCluster) -> None:
    assert "already up" in cluster.cli("up").stdout


def test_pods_reach_each_other_by_name_and_degrade_limits_their_rate(
    cluster: LocalCluster, described: Cluster, server: None
) -> None:
    healthy = fetch_mbits_per_s(cluster, described.api, "healthy")
    cluster.degrade("n1", "20mbit")
    try:
        assert "20Mbit" in cluster.cli("status").stdout
        degraded = fetch_mbits_per_s(cluster, described.api, "degraded")
    finally:
        cluster.restore()
    assert 10 < degraded < 22
    assert healthy > 5 * degraded


def test_a_killed_node_is_noticed_and_comes_back(cluster: LocalCluster, described: Cluster) -> None:
    cluster.kill("n1")
    try:
        assert cluster.cli("status", check=False).returncode == 1
        wait_until("n1 to be NotReady", lambda: ready_status(described, "n1") == "Unknown", 40)
    finally:
        cluster.revive("n1")
    assert ready_status(described, "n1") == "True"
    assert cluster.cli("status").returncode == 0


@pytest.mark.parametrize("killed", [("n0 kubelet", "cp kube-apiserver"), ("n0 containerd", "cp etcd")], ids=" and ".join)
def test_up_heals_killed_programs(cluster: LocalCluster, described: Cluster, killed: tuple[str, ...]) -> None:
    for each in killed:
        machine, program = each.split()
        end_all_of(described.daemons_of(next(m for m in described.machines if m.name == machine))[program])
    healed = cluster.cli("up").stdout
    for each in killed:
        machine, program = each.split()
        assert f"{program} of {machine}" in healed
    assert "anew" not in healed
    assert cluster.cli("status").returncode == 0


def end_all_of(daemon: Daemon) -> None:
    for pid in daemon.pids():
        processes.end(pid, lambda p: p in daemon.pids())
    assert not daemon.running()


def test_restart_replaces_the_process(cluster: LocalCluster, described: Cluster) -> None:
    daemon = described.node_daemons("n0")["kube-proxy"]
    before = daemon.pids()
    cluster.cli("restart", "n0", "kube-proxy")
    assert daemon.pids()
    assert set(daemon.pids()).isdisjoint(before)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("degrade", "n7", "10mbit"), "it has system, n0, n1"),
        (("degrade", "n0", "fast"), "is no rate"),
        (("degrade", "n0", "10gbit"), "faster than a healthy link"),
        (("kill", "cp"), "has no node 'cp'"),
        (("restart", "n0", "etcd"), "it runs containerd, kubelet, kube-proxy"),
        (("load", "/nonexistent.tar"), "no image archive"),
        (("up", "--workers", "0"), "from 1 to"),
        (("up", "--label", "rack"), "[NODE:]KEY=VALUE"),
        (("up", "--label", "n9:rack=1"), "there are n0, n1"),
    ],
)
def test_a_users_mistake_is_one_line(cluster: LocalCluster, arguments: tuple[str, ...], fragment: str) -> None:
    done = cluster.cli(*arguments, check=False)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_commands_on_a_cluster_that_is_not_up_say_so(cluster: LocalCluster) -> None:
    for arguments in (("status",), ("degrade", "n0", "10mbit"), ("kill", "n0"), ("restore",)):
        done = cli("absent", *arguments, check=False)
        assert (done.returncode, "is not up" in done.stderr) == (2, True)
    assert "nothing to do" in cli("absent", "down").stdout


# How far an `up` got when it is killed, as its folder and the kernel show it.
POINTS: dict[str, Callable[[str], bool]] = {
    "registered": lambda name: registry.known_index(name) is not None,
    "first machine": lambda name: len(namespaces(name)) >= 2,
    "certificates": lambda name: (folder_of(name) / "pki" / "scheduler.crt").exists(),
    "API server": lambda name: (folder_of(name) / "cp" / "logs" / "kube-apiserver.log").exists(),
    "kubelet": lambda name: (folder_of(name) / "n0" / "logs" / "kubelet.log").exists(),
}


@pytest.fixture
def beside(cluster: LocalCluster) -> str:
    """Name of a second cluster beside the healthy one."""
    return f"{cluster.name}-killed"


@pytest.mark.parametrize(
    "point", [pytest.param(p, marks=pytest.mark.soak) if p in ("first machine", "certificates") else p for p in POINTS]
)
def test_a_killed_up_leaves_nothing_after_down(cluster: LocalCluster, beside: str, point: str) -> None:
    with nothing_left_of(beside):
        kill_up_at(beside, POINTS[point])
        cli(beside, "down")
        cli(beside, "down")
    assert cluster.cli("status").returncode == 0


def test_up_completes_what_a_killed_one_began_and_down_removes_a_wreck(beside: str) -> None:
    with nothing_left_of(beside):
        kill_up_at(beside, POINTS["API server"])
        cli(beside, "up", "--workers", "1", "--label", "n0:rack=r1")
        assert cli(beside, "status").returncode == 0
        described = existing(beside)
        assert described.api.nodes()["n0"]["metadata"]["labels"]["rack"] == "r1"
        for machine in described.machines:
            os.kill(machine.init() or 0, signal.SIGKILL)
        (described.folder / "wish.json").write_text("")
        (described.folder / "n0" / "kubelet.json").unlink()
        cli(beside, "down")


def kill_up_at(name: str, reached: Callable[[str], bool]) -> None:
    command = [sys.executable, "-m", "tools.localcluster", "--name", name, "up", "--workers", "1"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) as process:
        wait_until("up to get there", lambda: reached(name) or process.poll() is not None, 60)
        assert process.poll() is None, "up was over too early"
        process.kill()


def namespaces(name: str) -> list[str]:
    index = registry.known_index(name)
    folder = Path("/run/netns")
    return [] if index is None or not folder.exists() else [p.name for p in folder.glob(f"{Addresses(index).tag}-*")]


@contextmanager
def nothing_left_of(name: str) -> Iterator[None]:
    cli(name, "down")  # of a session that was killed
    before = kernel_objects(name)
    yield
    assert registry.known_index(name) is None
    assert not folder_of(name).exists()
    assert not [pid for pid in processes.all_pids() if str(folder_of(name)) in " ".join(processes.command_line(pid))]
    assert kernel_objects(name) - before == set()


def kernel_objects(name: str) -> set[str]:
    """Network namespaces, links, mounts and control groups of the host, without those of other clusters."""
    found = {f"namespace {path.name}" for path in Path("/run/netns").glob("*")}
    found |= {f"link {path.name}" for path in Path("/sys/class/net").iterdir()}
    found |= {f"mount {line.split()[4]}" for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    found |= {f"cgroup {path}" for path in Path("/sys/fs/cgroup").glob("**/gpufabric/*")}
    held = json.loads((state_folder() / "registry.json").read_text())["clusters"]
    others = {Addresses(index).tag for holder, index in held.items() if holder != name}
    return {entry for entry in found if not others & set(re.findall(r"gfab\d+", entry))}


def ready_status(described: Cluster, name: str) -> str:
    conditions = described.api.nodes()[name]["status"]["conditions"]
    return next(str(c["status"]) for c in conditions if c["type"] == "Ready")
