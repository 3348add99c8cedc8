"""A cached bucket in real pods: a real DaemonSet mounts it, an unprivileged pod saves, and no removal forgets a file."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gpufabric.mounts import contract
from gpufabric.plan.mounts import PodMount
from gpufabric.preflight import connect
from gpufabric.validation.api import Api, ApiError, path
from tests.local.conftest import LocalCluster
from tools.engine import Engine, make_project
from tools.localcluster import bucket
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until
from tools.save import save

pytestmark = pytest.mark.local

NAMESPACE, STACK = bucket.NAMESPACE, "mounts"
PROGRAM = """import json
from pathlib import Path

import pulumi

from gpufabric.kubernetes import CachedMount

mount = CachedMount("ckpt", json.loads(Path(__file__).with_name("args.json").read_text()))
pulumi.export("pod", mount.pod)
"""
WISH: dict[str, Any] = {
    "name": "ckpt",
    "bucket": {"kind": "s3", "name": bucket.BUCKET, "region": "us-east-1", "endpoint": bucket.ENDPOINT},
    "path": "/checkpoints",
    "node_selector": {"gpufabric.dev/pool": "train"},
    "image": "localhost/gpufabric/gate:1",
    "rclone_image": bucket.IMAGE,
    "namespace": NAMESPACE,
    "credentials_secret": bucket.SECRET,
    "cache_path": "/var/log/nvme",
    "cache_gib": 4,
    "drain_seconds": 20,
    "dir_cache_s": 300,  # who creates a file asks for the folder's listing once it is older, also while the server is away
}
MOUNT = PodMount(mount="ckpt", path="/checkpoints", drain_seconds=20)
# As a job does it.
SAVE = """
set -e
cd /checkpoints/files
dd if=/dev/urandom of={name} bs=1M count=16 conv=fsync 2>/dev/null
sha256sum {name}
/checkpoints/flush --timeout 60
"""


@dataclass(frozen=True)
class Mounted:
    """The stack, and what looks at it from outside."""

    engine: Engine
    api: Api
    cluster: LocalCluster
    program: Path
    pods: list[str] = field(default_factory=list)

    def up(self) -> str:
        done = self.engine.run("up", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def destroy(self) -> tuple[int, str]:
        done = self.engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
        return done.returncode, done.stdout

    def pod(self, name: str, script: str, node: str, mount: PodMount | None = MOUNT) -> None:
        """An unprivileged pod of one container, user 1000."""
        container = {"name": "main", "image": "localhost/gpufabric/gate:1", "command": ["/bin/sh", "-c", script]}
        spec = {"nodeName": node, "restartPolicy": "Never", "containers": [container], "securityContext": {"runAsUser": 1000}}
        whole = mount.apply_to(spec) if mount else spec
        self.api.create(path("pods", namespace=NAMESPACE), {"metadata": {"name": name}, "spec": whole})
        self.pods.append(name)

    def log(self, name: str) -> str:
        return self.api.log(NAMESPACE, name, "main", tail_lines=50)

    def ended(self, name: str) -> str:
        """The pod's log, once it has ended well."""
        phase: Callable[[], str] = lambda: self.api.get(path("pods", name, namespace=NAMESPACE))["status"]["phase"]  # noqa: E731
        wait_until(f"pod {name} to end", lambda: phase() in ("Succeeded", "Failed"), 90)
        assert phase() == "Succeeded", self.log(name)
        return self.log(name)

    def on(self, node: str, *command: str) -> str:
        return existing(self.cluster.name).find_node(node).run(*command)

    def report(self, node: str) -> dict[str, str]:
        found = self.api.find(path("configmaps", contract.report_name("ckpt", node), namespace=NAMESPACE))
        return dict(found["data"]) if found else {}


def served(*, open_: bool) -> dict[str, Any]:
    """Of the server's Service. Closed, it finds no pod: connections are refused, as while a server is down."""
    return {"spec": {"selector": {"app": bucket.SERVICE if open_ else "nobody"}}}


@pytest.fixture(scope="module")
def mounted(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    folder = tmp_path_factory.mktemp("mounts")
    if reason := bucket.lacking():
        pytest.skip(f"this machine mounts no buckets: {reason}")
    bucket.install(cluster.name)
    program = folder / "program"
    program.mkdir()
    (program / "__main__.py").write_text(PROGRAM)
    (program / "args.json").write_text(json.dumps(WISH))
    engine = Engine(folder / "state", cluster.kubeconfig, make_project(folder / "project", program))
    engine.select(STACK)
    api = connect(str(cluster.kubeconfig), None)
    made = Mounted(engine, api, cluster, program)
    made.up()
    try:
        yield made
    finally:
        for name in made.pods:
            api.delete(path("pods", name, namespace=NAMESPACE))
        api.merge_patch(path("services", bucket.SERVICE, namespace=NAMESPACE), served(open_=True))
        for node in ("n0", "n1"):
            api.delete(path("configmaps", contract.report_name("ckpt", node), namespace=NAMESPACE))
        made.destroy()
        api.delete(path("namespaces", NAMESPACE))
        wait_until("the namespace to go", lambda: api.find(path("namespaces", NAMESPACE)) is None, 90)


def test_a_save_of_an_unprivileged_pod_is_in_the_bucket_and_on_the_other_node(mounted: Mounted) -> None:
    mounted.pod("save", SAVE.format(name="model.pt"), "n0")
    said = mounted.ended("save")
    assert "flush: all that was written is in the bucket" in said
    wanted = said.split()[0]
    mounted.pod("load", "ls -l /checkpoints/files; sha256sum /checkpoints/files/model.pt", "n1")
    assert wanted in mounted.ended("load")
    wait_until("n0's report", lambda: mounted.report("n0").get(contract.REPORT_FILES) == "0", 20)


def test_a_job_saves_as_make_up_does(mounted: Mounted) -> None:
    def profile(job: Mapping[str, Any]) -> Mapping[str, Any]:
        merged = MOUNT.apply_to(job)
        merged["template"]["spec"]["nodeName"] = "n1"
        return merged

    saved = save(mounted.api, profile, "localhost/gpufabric/gate:1", folder=MOUNT.path, key="job.pt", mib=8)
    assert saved.size == 8 << 20
    assert 0 < saved.close_s < saved.bucket_s
    assert bucket.checksum(mounted.cluster.name, "job.pt") == saved.sha256
    assert not mounted.api.list(path("jobs", namespace="default", group="batch"))


def test_pods_cannot_write_where_no_bucket_is(mounted: Mounted) -> None:
    """The folder around it is read-only for them, root or not."""
    script = "touch /checkpoints/here; touch /checkpoints/files/there && rm /checkpoints/files/there && echo only there"
    mounted.pod("outside", script, "n0")
    said = mounted.ended("outside")
    assert "cannot touch '/checkpoints/here': Read-only file system" in said
    assert "only there" in said


def test_the_bucket_comes_back_under_running_pods(mounted: Mounted) -> None:
    """kill -9 of rclone: the kubelet starts it again, and the new mount reaches the pod that was there before."""
    script = """
until [ -e /checkpoints/files/go ]; do sleep 0.2; done
dd if=/dev/zero of=/checkpoints/files/after bs=1M count=1 2>/dev/null && /checkpoints/flush --timeout 60
"""
    mounted.pod("stays", script, "n0")
    wait_until(
        "the pod to run",
        lambda: mounted.api.get(path("pods", "stays", namespace=NAMESPACE))["status"]["phase"] == "Running",
        60,
    )
    before = mounted.on("n0", "pgrep", "-f", "^rclone mount").split()
    mounted.on("n0", "kill", "-9", *before)
    mounted.pod("writes", "until touch /checkpoints/files/go; do sleep 0.5; done", "n0")
    assert "flush: all that was written is in the bucket" in mounted.ended("stays")
    after = mounted.on("n0", "pgrep", "-f", "^rclone mount").split()
    assert set(before).isdisjoint(after)


def test_nobody_removes_the_mount_while_a_node_holds_what_is_nowhere_else(mounted: Mounted) -> None:
    """The server is away; a pod saves and is gone. `pulumi destroy` and kubectl are refused, with the count."""
    mounted.pod("list", "ls /checkpoints/files", "n1")
    mounted.ended("list")
    mounted.api.merge_patch(path("services", bucket.SERVICE, namespace=NAMESPACE), served(open_=False))
    mounted.pod("last", "head -c 3000000 /dev/zero >/checkpoints/files/last.pt", "n1")
    mounted.ended("last")
    wait_until("n1's report", lambda: mounted.report("n1").get(contract.REPORT_BYTES) == "3000000", 20)
    says = "mount ckpt: n1 holds 1 files (3000000 bytes) that are not in the bucket yet; wait until they are uploaded"
    code, said = mounted.destroy()
    assert code != 0
    assert says in said.replace("\n", " "), said
    with pytest.raises(ApiError) as refused:
        mounted.api.delete(path("daemonsets", "mount-ckpt", namespace=NAMESPACE, group="apps"))
    assert says in refused.value.message
    moved = {**WISH, "cache_path": "/var/log/elsewhere"}
    (mounted.program / "args.json").write_text(json.dumps(moved))
    failed = mounted.engine.run("up", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
    assert failed.returncode != 0
    assert says in failed.stdout.replace("\n", " "), failed.stdout
    (mounted.program / "args.json").write_text(json.dumps(WISH))
    mounted.up()  # what a refused destroy leaves is whole: nothing is missing
    mounted.api.merge_patch(path("services", bucket.SERVICE, namespace=NAMESPACE), served(open_=True))
    wait_until("the upload", lambda: mounted.report("n1").get(contract.REPORT_FILES) == "0", 90)
    assert mounted.on("system", "stat", "--format=%s", f"{bucket.FOLDER}/{bucket.BUCKET}/last.pt").strip() == "3000000"
    code, said = mounted.destroy()
    assert code == 0, said
    wait_until("the mounts to end", lambda: "fuse" not in mounted.on("n0", "cat", "/proc/self/mountinfo"), 60)
    left = {each["metadata"]["name"] for each in mounted.api.list(path("configmaps", namespace=NAMESPACE))}
    assert left == {"kube-root-ca.crt", "mount-ckpt-n0", "mount-ckpt-n1"}, "what a destroy leaves is what the docs say"
    sets = path("daemonsets", namespace=NAMESPACE, group="apps")
    wait_until("the DaemonSet to go", lambda: not mounted.api.list(sets), 60)
