"""Local NVMe in real pods: a DaemonSet formats a loop device, pods wait for it, the node has its label, nobody more rights."""

import base64
import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufabric.local_nvme import contract
from gpufabric.local_nvme.agent import node_labels
from gpufabric.plan.local_nvme import PodScratch
from gpufabric.preflight import connect
from gpufabric.validation.api import Api, ApiError, path
from tests.local.conftest import LocalCluster
from tests.local_nvme.machine import loops, make_disks
from tools.engine import Engine, make_project
from tools.image.derived import derive
from tools.localcluster import node
from tools.localcluster.lifecycle import existing
from tools.localcluster.waits import wait_until
from tools.toolchain.debian import usermode_folder

pytestmark = pytest.mark.local

NAMESPACE, STACK, IMAGE = "gpufabric-disks-nvme-train", "disks", "localhost/gpufabric/disks-test:1"
NODE_PATH = "/var/log/gpufabric/nvme"  # /var/log is a machine's own here
PROGRAMS = ("sbin/mdadm", "sbin/mkfs.xfs", "usr/lib/x86_64-linux-gnu/libinih.so.1", "usr/lib/x86_64-linux-gnu/liburcu.so.8")
PROGRAM = """import json
from pathlib import Path

import pulumi

from gpufabric.kubernetes import LocalNvme

disks = LocalNvme("nvme", json.loads(Path(__file__).with_name("args.json").read_text()))
pulumi.export("pod", disks.pod)
"""


@dataclass(frozen=True)
class Disks:
    """The stack, and what looks at it from outside."""

    engine: Engine
    api: Api
    cluster: LocalCluster
    program: Path
    device: str

    def up(self, **more: Any) -> None:
        wish = {
            "name": "train",
            "node_selector": {"kubernetes.io/hostname": "n0"},
            "image": "localhost/gpufabric/gate:1",
            "disk_image": IMAGE,
            "devices": [self.device],
            "node_path": NODE_PATH,
            **more,
        }
        (self.program / "args.json").write_text(json.dumps(wish))
        done = self.engine.run("up", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
        assert done.returncode == 0, done.stdout

    def on(self, *command: str) -> str:
        return existing(self.cluster.name).find_node("n0").run(*command)

    def daemon_pod(self) -> dict[str, Any]:
        (pod,) = self.api.list(path("pods", namespace=NAMESPACE))
        return pod

    def ready(self) -> bool:
        conditions = self.daemon_pod()["status"].get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def label(self) -> str | None:
        found: str | None = self.api.get(path("nodes", "n0"))["metadata"]["labels"].get(contract.LABEL_GIB)
        return found

    def as_the_agent(self) -> Api:
        """The API as the agent's pod sees it: with a token that says which node the pod runs on."""
        pod = self.daemon_pod()["metadata"]
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["name"], "uid": pod["uid"]}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
        answer = self.api.create(path("serviceaccounts", "nvme-train", namespace=NAMESPACE, sub="token"), body)
        token = answer["status"]["token"]
        (entry,) = yaml.safe_load(Path(self.cluster.kubeconfig).read_text("utf-8"))["clusters"]
        authority = entry["cluster"]
        data = authority.get("certificate-authority-data")
        text = base64.b64decode(data).decode() if data else Path(authority["certificate-authority"]).read_text("utf-8")
        context = ssl.create_default_context(cadata=text)
        return Api(authority["server"], context, lambda: {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def disks(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    if not usermode_folder().exists():
        pytest.skip("disks in pods were not tested: no mdadm and xfsprogs; python3 -m tools.toolchain ensure usermode")
    folder = tmp_path_factory.mktemp("disks")
    archive = folder / "image.tar"
    derive(archive, IMAGE, {f"/usr/{at.removeprefix('usr/')}": (usermode_folder() / at).read_bytes() for at in PROGRAMS})
    node.import_archive(existing(cluster.name).find_node("n0"), archive)
    program = folder / "program"
    program.mkdir()
    (program / "__main__.py").write_text(PROGRAM)
    engine = Engine(folder / "state", cluster.kubeconfig, make_project(folder / "project", program))
    engine.select(STACK)
    with loops(make_disks(folder, 1)) as (device,):
        made = Disks(engine, connect(str(cluster.kubeconfig), None), cluster, program, device)
        try:
            yield made
        finally:
            engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
            made.on("sh", "-c", f"umount {NODE_PATH} 2>/dev/null; true")


def test_disks_of_a_node_in_real_pods(disks: Disks) -> None:
    """One story: somebody else's disk is refused, then empty, mounted, labelled, used; then all goes but the data."""
    subprocess.run(["mkfs.ext4", "-q", disks.device], check=True)
    disks.up()

    def said() -> str:
        statuses = {each["name"]: each for each in disks.daemon_pod()["status"].get("containerStatuses", [])}
        ended = statuses.get("disks", {}).get("lastState", {}).get("terminated") or {}
        return str(ended.get("message", ""))

    wait_until("the refusal in the pod's status", lambda: "holds ext4" in said(), 90)
    assert "No disk of this node was changed" in said()
    assert disks.label() is None
    scratch = PodScratch(node_path=NODE_PATH, path="/scratch")
    spec = {
        "nodeName": "n0",
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 1000},
        "containers": [
            {"name": "main", "image": "localhost/gpufabric/gate:1", "command": ["sh", "-c", "echo kept >/scratch/f"]}
        ],
    }
    disks.api.create(path("pods", namespace="default"), {"metadata": {"name": "uses"}, "spec": scratch.apply_to(spec)})

    def phase() -> str:
        return str(disks.api.get(path("pods", "uses", namespace="default"))["status"]["phase"])

    assert phase() == "Pending", "it waits for a folder that nobody makes on the root disk"
    subprocess.run(["wipefs", "--all", "--quiet", disks.device], check=True)
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={disks.device}", "bs=1M", "count=8", "conv=fsync"], check=True, capture_output=True
    )
    disks.api.delete(path("pods", disks.daemon_pod()["metadata"]["name"], namespace=NAMESPACE))  # sooner than its back-off
    wait_until("the file system to be ready", disks.ready, 120)
    assert disks.on("findmnt", "-n", "-o", "SOURCE,FSTYPE", NODE_PATH).split() == [disks.device, "xfs"]
    wait_until("the label", lambda: disks.label() == "0", 60)  # 400 MiB are no whole GiB
    wait_until("the waiting pod to run and end", lambda: phase() == "Succeeded", 150)
    disks.api.delete(path("pods", "uses", namespace="default"))
    assert disks.on("cat", f"{NODE_PATH}/{contract.SCRATCH}/f") == "kept\n"
    assert_one_label_of_its_own_node(disks)
    done = disks.engine.run("destroy", "--yes", "--skip-preview", "--stack", STACK, timeout_s=120)
    assert done.returncode == 0, done.stdout
    wait_until("the label to go", lambda: disks.label() is None, 60)
    assert disks.on("cat", f"{NODE_PATH}/{contract.SCRATCH}/f") == "kept\n", "what is on the disks stays"


def assert_one_label_of_its_own_node(disks: Disks) -> None:
    agent = disks.as_the_agent()
    own = {"metadata": {"labels": {contract.LABEL_GIB: "0"}}}
    agent.apply(path("nodes", "n0"), node_labels("n0", 0), contract.FIELD_MANAGER)
    refused: dict[str, tuple[str, dict[str, Any], str]] = {
        "another node": ("n1", own, "may change only the node that it runs on"),
        "another label": ("n0", {"metadata": {"labels": {"gpufabric.dev/validated": "pass"}}}, "may change only the label"),
        "an annotation": (
            "n0",
            {"metadata": {"annotations": {"gpufabric.dev/validation": "{}"}}},
            "may not change annotations",
        ),
        "a taint": (
            "n0",
            {"spec": {"taints": [{"key": "gpufabric.dev/hold", "effect": "NoSchedule"}]}},
            "may not change taints",
        ),
        "a cordon": ("n0", {"spec": {"unschedulable": True}}, "may not cordon"),
    }
    for what, (name, body, says) in refused.items():
        with pytest.raises(ApiError) as caught:
            agent.merge_patch(path("nodes", name), body)
        assert says in caught.value.message, f"{what}: {caught.value.message}"
    read: Callable[[], object] = lambda: agent.get(path("nodes", "n0"))  # noqa: E731
    with pytest.raises(ApiError):
        read()
