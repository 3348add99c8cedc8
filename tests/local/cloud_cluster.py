"""A cloud's cluster, for whole samples: the stand-in hands out a local cluster, and its machines are the declared nodes."""

import base64
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpufabric.spec import CONFIG_KEY
from gpufabric.validation.api import Api, path
from tests.engine.stack import EngineStack
from tests.local.conftest import LocalCluster
from tools.localcluster.lifecycle import existing

GPU, GPUS = "nvidia.com/gpu", 8
WORKERS = ("n0", "n1")
_OF_GPUS = ("gpu_driver", "gpu_count", "ecc", "rows_pending", "rows_failure", "throttle", "recovery", "xid", "pcie")
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}

# What is not the real thing on every cloud, and what is there instead.
REPLACED = {
    "NVIDIA's device plugin": f"{GPUS} {GPU} written into the status of each node; there is no GPU",
    "the gate's image": "localhost/gpufabric/gate:1",
    "fatal findings about GPUs": "warnings",
}


def on_cpus(
    wish: dict[str, Any], image: str, replaced: Mapping[str, str], *, warnings: tuple[str, ...] = (), **validation: Any
) -> dict[str, Any]:
    """A sample's wish, but for what ``replaced`` says about it. ``warnings``: further findings that end nothing here."""
    wish["validation"] = {
        **wish["validation"],
        "image": image,
        "max_size": "4M",
        "health": dict.fromkeys((*_OF_GPUS, "persistence", "dcgm", *warnings), "warning"),
        "nodes_minutes": 2,
        "start_minutes": 1,
        "benchmark_minutes": 1,
        "stand_ins": [f"instead of {real}: {there}" for real, there in replaced.items()],
        **validation,
    }
    return wish


def authority(cluster: LocalCluster) -> tuple[str, str]:
    """Address of the cluster's API, and its certificate authority in base64."""
    held = json.loads(cluster.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]
    return held["server"], held["certificate-authority-data"]


def token_program(cluster: LocalCluster, folder: Path, *words: str) -> None:
    """The program ``words`` that a kubeconfig of the cloud calls: it prints a certificate of the local administrator."""
    user = json.loads(cluster.kubeconfig.read_text("utf-8"))["users"][0]["user"]
    status = {
        "clientCertificateData": _decoded(user["client-certificate-data"]),
        "clientKeyData": _decoded(user["client-key-data"]),
    }
    credential = {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}
    folder.mkdir(mode=0o700)
    (folder / "credential.json").write_text(json.dumps(credential), encoding="utf-8")
    name, *arguments = words
    wanted = shlex.quote(" ".join(arguments))
    asked = f'case "$*" in {wanted}*) ;; *) exit 64 ;; esac'
    (folder / name).write_text(f"#!/bin/sh\n{asked}\nexec cat {folder}/credential.json\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def with_programs(stack: EngineStack, folder: Path) -> EngineStack:
    """The same stack, whose engine finds the programs of a folder first."""
    search = f"{folder}{os.pathsep}{stack.engine.environment['PATH']}"
    return replace(stack, engine=replace(stack.engine, extra={**stack.engine.extra, "PATH": search}))


def await_made(stack: EngineStack, kind: str, name: str = "", timeout_s: float = 120) -> dict[str, Any]:
    """Properties of the resource of a kind, once it is made; ``name``: the only one with that in its logical name."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for each in stack.cloud.objects(kind):
            if name in each.urn.rpartition("::")[2] and each.properties:
                return each.properties
        time.sleep(0.1)
    raise AssertionError(f"no {kind} {name} after {timeout_s} s")


def join(api: Api, labels: Mapping[str, str], taints: list[dict[str, Any]]) -> None:
    """The machines of a node group join the cluster: with its labels and taints, and their GPUs counted."""
    spoken = [{**each, "effect": _EFFECTS[each["effect"]]} for each in taints]
    counted = {GPU: str(GPUS)}
    for name in WORKERS:
        api.merge_patch(path("nodes", name), {"metadata": {"labels": dict(labels)}, "spec": {"taints": spoken}})
        api.merge_patch(path("nodes", name, sub="status"), {"status": {"capacity": counted, "allocatable": counted}})


@contextmanager
def own_folder(cluster: LocalCluster, folder: str) -> Iterator[None]:
    """A folder that every worker has for itself, empty and in memory: machines share this one's other folders."""
    made = not Path(folder).exists()
    machines = [existing(cluster.name).find_node(name) for name in WORKERS]
    try:
        for machine in machines:
            machine.run("sh", "-c", 'mkdir -p "$1" && mount -t tmpfs tmpfs "$1"', "sh", folder)
        yield
    finally:
        if made:  # the mounts are the machines' own; here it is empty
            Path(folder).rmdir()


def up_with(stack: EngineStack, wish: dict[str, Any], log: Path, nodes_join: Any, timeout_s: float = 240) -> None:
    """``up`` of a wish; ``nodes_join()`` is called while it runs, and returns once the machines have joined."""
    stack.write({CONFIG_KEY: wish})
    up = stack.start("up", log)
    try:
        nodes_join()
        assert up.wait(timeout=timeout_s) == 0, log.read_text("utf-8")
    finally:
        up.kill()
        up.wait()


def assert_opened(api: Api, verdict: dict[str, Any], wish: dict[str, Any]) -> None:
    """A pass, with everything that was replaced said, and nodes that are open with the taint of GPU nodes alone."""
    assert (verdict["outcome"], verdict["nodes"]) == ("pass", list(WORKERS))
    assert verdict["busbw_gbytes_per_s"] >= wish["validation"]["floor_gbytes_per_s"]
    assert set(verdict["stand_ins"]) >= set(wish["validation"]["stand_ins"])
    assert {each["check"] for each in verdict["health"]["n0"]["findings"]} >= {"gpu_count"}
    labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in api.list(path("nodes"))}
    assert {labels[name]["gpufabric.dev/validated"] for name in WORKERS} == {"pass"}
    taints = [t["key"] for name in WORKERS for t in api.get(path("nodes", name))["spec"].get("taints", [])]
    assert taints == [GPU, GPU], "the hold is gone, the taint of GPU nodes stays"


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
