"""A whole AWS sample with a real verdict: AWS is the stand-in, its EKS cluster is a local cluster, and the gate runs on it."""

import base64
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.preflight import connect
from gpufabric.spec import CONFIG_KEY
from gpufabric.validation.api import Api, path
from tests.engine.samples import STACKS, hold_what_exists, read_sample
from tests.engine.stack import EngineStack, made_stack
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.gate_stack import FLOOR
from tools.standin.standin import StandIn
from tools.up import describe

pytestmark = [pytest.mark.engine, pytest.mark.local]

SAMPLE = "aws-g6e-standard"
CLUSTER, NODE_GROUP = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
GPU, GPUS = "nvidia.com/gpu", 8
_OF_GPUS = ("gpu_driver", "gpu_count", "ecc", "rows_pending", "rows_failure", "throttle", "recovery", "xid", "pcie")

# What is not the real thing, and what is there instead. The verdict repeats it.
REPLACED = {
    "AWS": "the stand-in provider, whose cloud is a file",
    "the EKS cluster": "a local cluster, whose endpoint and authority the stand-in hands out",
    "aws eks get-token": "a program that prints a client certificate of the local cluster",
    "g6e.48xlarge": "machines n0 and n1 of the local cluster, with the labels and taints of the declared node group",
    "NVIDIA's device plugin": f"{GPUS} {GPU} written into the status of each node; there is no GPU",
    "the gate's and the ranks' image": "localhost/gpufabric/gate:1",
    "backend nccl and its floor of 1.5 GB/s": f"backend mpi and a floor of {FLOOR} GB/s",
    "fatal findings about GPUs": "warnings",
}


def local_wish(image: str) -> dict[str, Any]:
    """The sample, but for what REPLACED says about it."""
    wish = read_sample(STACKS / f"Pulumi.{SAMPLE}.yaml")
    wish["validation"] = {
        **wish["validation"],
        "image": image,
        "rank_image": image,
        "backend": "mpi",
        "floor_gbytes_per_s": FLOOR,
        "max_size": "4M",
        "health": dict.fromkeys((*_OF_GPUS, "persistence", "dcgm"), "warning"),
        "nodes_minutes": 2,
        "start_minutes": 1,
        "benchmark_minutes": 1,
        "stand_ins": [f"instead of {real}: {there}" for real, there in REPLACED.items()],
    }
    return wish


def hand_out(cluster: LocalCluster, cloud: StandIn, programs: Path) -> None:
    """The cluster that EKS makes is the local one, and its token is the local administrator's certificate."""
    held = json.loads(cluster.kubeconfig.read_text("utf-8"))
    of_cluster, user = held["clusters"][0]["cluster"], held["users"][0]["user"]
    authority = {"data": of_cluster["certificate-authority-data"]}
    cloud.hand_out(CLUSTER, endpoint=of_cluster["server"], certificateAuthority=authority)
    status = {
        "clientCertificateData": _decoded(user["client-certificate-data"]),
        "clientKeyData": _decoded(user["client-key-data"]),
    }
    credential = {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}
    programs.mkdir(mode=0o700)
    (programs / "credential.json").write_text(json.dumps(credential), encoding="utf-8")
    aws = programs / "aws"
    aws.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "eks get-token" ] && exec cat {programs}/credential.json\nexit 64\n', encoding="utf-8"
    )
    aws.chmod(0o755)


def join(api: Api, group: dict[str, Any]) -> None:
    """The machines of a node group join the cluster: with its labels and taints, and their GPUs counted."""
    effects = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}
    taints = [each | {"effect": effects[each["effect"]]} for each in group["taints"]]
    counted = {GPU: str(GPUS)}
    for name in ("n0", "n1"):
        node = path("nodes", name)
        api.merge_patch(node, {"metadata": {"labels": group["labels"]}, "spec": {"taints": taints}})
        api.merge_patch(path("nodes", name, sub="status"), {"status": {"capacity": counted, "allocatable": counted}})


def await_group(stack: EngineStack, timeout_s: float = 120) -> dict[str, Any]:
    """Properties of the GPU node group, once it is made."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for each in stack.cloud.objects(NODE_GROUP):
            if each.properties.get("taints"):
                return each.properties
        time.sleep(0.1)
    raise AssertionError(f"no node group after {timeout_s} s")


def test_a_sample_ends_in_a_real_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_cluster(f"{NAME}-aws"[-20:].lstrip("-")) as cluster, made_stack("aws", tmp_path, STACKS, "aws") as made:
        hand_out(cluster, made.cloud, tmp_path / "programs")
        search = f"{tmp_path / 'programs'}{os.pathsep}{made.engine.environment['PATH']}"
        stack = replace(made, engine=replace(made.engine, extra={**made.engine.extra, "PATH": search}))
        wish = local_wish(cluster.image)
        stack.write({CONFIG_KEY: wish})
        hold_what_exists(stack.cloud, wish)
        log = tmp_path / "up.log"
        up = stack.start("up", log)
        try:
            api = connect(str(cluster.kubeconfig), None)
            join(api, await_group(stack))
            assert up.wait(timeout=240) == 0, log.read_text("utf-8")
        finally:
            up.kill()
            up.wait()

        verdict = stack.engine.outputs(stack.name)["validation"]["batch"]
        with capsys.disabled():
            print("\n".join(["", *(f"  {real}: {there}" for real, there in REPLACED.items()), describe("batch", verdict)]))
        assert (verdict["outcome"], verdict["nodes"]) == ("pass", ["n0", "n1"])
        assert verdict["busbw_gbytes_per_s"] >= FLOOR
        assert verdict["stand_ins"][1:] == wish["validation"]["stand_ins"]
        assert {each["check"] for each in verdict["health"]["n0"]["findings"]} >= {"gpu_count"}
        labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in api.list(path("nodes"))}
        assert {labels[name]["gpufabric.dev/validated"] for name in ("n0", "n1")} == {"pass"}
        taints = [t["key"] for name in ("n0", "n1") for t in api.get(path("nodes", name))["spec"].get("taints", [])]
        assert taints == [GPU, GPU], "the hold is gone, the taint of GPU nodes stays"
        assert stack.succeed("up").keys() == {"unchanged"}


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
