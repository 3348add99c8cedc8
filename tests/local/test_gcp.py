"""Google Cloud's samples in a real cluster: one whole sample with a real verdict, and all objects of all samples accepted.

Google Cloud is the stand-in, its GKE cluster is a local cluster, and the installer and the gate run on it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.kubernetes import clock
from gpufabric.plan.gcp import resolve_gcp
from gpufabric.preflight import connect
from gpufabric.spec.gcp import GcpTrainingSpec
from tests.engine.samples import hold_what_exists, name_of, read_sample
from tests.engine.stack import made_stack
from tests.gcp.cloud import COMPUTED
from tests.kubernetes.stack_plans import STACKS, declare, samples
from tests.local import cloud_cluster, cpu_nccl_tests
from tests.local.acceptance import Server, accept_sample
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.cpu_nccl_tests import FROM_SCRIPT
from tests.local.gke_kinds import kinds
from tests.local.kueue_kinds import kueue_kinds
from tools.image.derived import derive
from tools.up import describe

pytestmark = [pytest.mark.engine, pytest.mark.local]

SAMPLE = "gcp-a3-ultra"
CLUSTER, NODE_POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
GIB = fabric_pods()["gib"]
FLOOR = 1e-4  # 16 processes share two cores: 0.001 was seen; slow links are other tests'

# What is not the real thing, and what is there instead. The verdict repeats it.
REPLACED = {
    "Google Cloud": "the stand-in provider, whose cloud is a file",
    "the GKE cluster": "a local cluster, whose address and authority the stand-in hands out, with two kinds of the tests",
    "gke-gcloud-auth-plugin": "a program that prints a client certificate of the local cluster",
    "a3-ultragpu-8g": "machines n0 and n1 of the local cluster, with the labels and taints of the declared node pool",
    "the rails": "nothing: no pod gets a second interface",
    "the image of the gIB plugin": "one of the tests', whose script sets a variable; our installer runs it and copies it",
    "nccl-tests": f"the same collectives between CPUs, which name the network that profile and script set; floor {FLOOR:g}",
    **cloud_cluster.REPLACED,
}
OF_FABRIC = ("hca_count", "hca_state", "hca_rate", "rdma_device", "nvlink")
RANKS = "localhost/gpufabric/test-nccl-tests:1"
# What the plugin's image does when it installs: libraries that are none, and the script that every pod sources.
INSTALL = f"""#!/bin/sh
[ "$1" = install ] || exit 64
mkdir -p /var/lib/gib/lib64 /var/lib/gib/scripts
echo "no library" >/var/lib/gib/lib64/libnccl-net.so
echo 'export {FROM_SCRIPT}=1' >/var/lib/gib/scripts/set_nccl_env.sh
"""


@pytest.fixture(scope="module")
def gke() -> Iterator[LocalCluster]:
    """A local cluster with GKE's kinds, and Kueue's own."""
    with running_cluster(f"{NAME}-gcp"[-20:].lstrip("-")) as cluster:
        server = Server(connect(str(cluster.kubeconfig), None))
        for kind in [*kinds(), *kueue_kinds()]:
            server.make(kind)
        yield cluster


@pytest.mark.parametrize("sample", samples("gcp"), ids=name_of)
def test_the_api_server_accepts_every_object_of_a_sample(gke: LocalCluster, sample: Path) -> None:
    plan = resolve_gcp(GcpTrainingSpec.parse(read_sample(sample)), name_of(sample), now=clock.now())
    accept_sample(Server(connect(str(gke.kubeconfig), None)), declare(sample, COMPUTED), plan.groups)


def test_a_sample_ends_in_a_real_verdict(gke: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measures = Path(cpu_nccl_tests.__file__).read_text("utf-8")
    programs = {f"/usr/local/bin/{each}_perf": measures for each in ("all_reduce", "all_gather")}
    for image, files in ((GIB.plugin, {"/scripts/container_entry.sh": INSTALL}), (RANKS, programs)):
        derive(tmp_path / "image.tar", image, files)
        gke.cli("load", str(tmp_path / "image.tar"))
    with cloud_cluster.own_folder(gke, "/home/kubernetes"), made_stack("gcp", tmp_path, STACKS, "gcp") as made:
        server, authority = cloud_cluster.authority(gke)
        answers = {"endpoint": server.removeprefix("https://"), "masterAuth.clusterCaCertificate": authority}
        made.cloud.hand_out(CLUSTER, **answers)
        cloud_cluster.token_program(gke, tmp_path / "programs", "gke-gcloud-auth-plugin")
        stack = cloud_cluster.with_programs(made, tmp_path / "programs")
        wish = read_sample(STACKS / f"Pulumi.{SAMPLE}.yaml")
        held: dict[str, Any] = dict.fromkeys(("floor_gbytes_per_s", "floor_all_gather_gbytes_per_s"), FLOOR)
        held |= {"rank_image": RANKS, "max_size": "1M", "start_minutes": 2, "benchmark_minutes": 3}
        wish = cloud_cluster.on_cpus(wish, gke.image, REPLACED, warnings=OF_FABRIC, **held)
        hold_what_exists(stack.cloud, wish)
        group = wish["node_groups"][0]["name"]
        api = connect(str(gke.kubeconfig), None)

        def nodes_join() -> None:
            config = cloud_cluster.await_made(stack, NODE_POOL, group)["nodeConfig"]
            cloud_cluster.join(api, config["labels"], config["taints"])

        cloud_cluster.up_with(stack, wish, tmp_path / "up.log", nodes_join, timeout_s=400)
        verdict = stack.engine.outputs(stack.name)["validation"][group]
        with capsys.disabled():
            print("\n".join(["", *(f"  {real}: {there}" for real, there in REPLACED.items()), describe(group, verdict)]))
        cloud_cluster.assert_opened(api, verdict, wish)
        (also,) = verdict["also"]
        assert also["collective"] == "all_gather"
        assert also["busbw_gbytes_per_s"] >= FLOOR
