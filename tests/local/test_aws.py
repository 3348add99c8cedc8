"""AWS's samples in a real cluster: one whole sample with a real verdict, and all objects of all samples accepted.

AWS is the stand-in, its EKS cluster is a local cluster, and the gate runs on it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufabric.kubernetes import clock
from gpufabric.plan.aws import resolve_aws
from gpufabric.preflight import connect
from gpufabric.spec.aws import AwsTrainingSpec
from tests.aws.cloud import COMPUTED
from tests.engine.samples import hold_what_exists, name_of, read_sample
from tests.engine.stack import made_stack
from tests.kubernetes.stack_plans import STACKS, declare, samples
from tests.local import cloud_cluster
from tests.local.acceptance import Server, accept_sample
from tests.local.conftest import NAME, LocalCluster, running_cluster
from tests.local.gate_stack import FLOOR
from tools.up import describe

pytestmark = [pytest.mark.engine, pytest.mark.local]

SAMPLE = "aws-g6e-standard"
CLUSTER, NODE_GROUP = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"

# What is not the real thing, and what is there instead. The verdict repeats it.
REPLACED = {
    "AWS": "the stand-in provider, whose cloud is a file",
    "the EKS cluster": "a local cluster, whose endpoint and authority the stand-in hands out",
    "aws eks get-token": "a program that prints a client certificate of the local cluster",
    "g6e.48xlarge": "machines n0 and n1 of the local cluster, with the labels and taints of the declared node group",
    "the ranks' image": "localhost/gpufabric/gate:1",
    "backend nccl and its floor": f"backend mpi and a floor of {FLOOR} GB/s",
    **cloud_cluster.REPLACED,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with running_cluster(f"{NAME}-aws"[-20:].lstrip("-")) as running:
        yield running


@pytest.mark.parametrize("sample", samples("aws"), ids=name_of)
def test_the_api_server_accepts_every_object_of_a_sample(cluster: LocalCluster, sample: Path) -> None:
    plan = resolve_aws(AwsTrainingSpec.parse(read_sample(sample)), name_of(sample), now=clock.now())
    accept_sample(Server(connect(str(cluster.kubeconfig), None)), declare(sample, COMPUTED), plan.groups)


def test_a_sample_ends_in_a_real_verdict(cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with made_stack("aws", tmp_path, STACKS, "aws") as made:
        endpoint, authority = cloud_cluster.authority(cluster)
        made.cloud.hand_out(CLUSTER, endpoint=endpoint, certificateAuthority={"data": authority})
        cloud_cluster.token_program(cluster, tmp_path / "programs", "aws", "eks", "get-token")
        stack = cloud_cluster.with_programs(made, tmp_path / "programs")
        mpi: dict[str, Any] = {"rank_image": cluster.image, "backend": "mpi", "floor_gbytes_per_s": FLOOR}
        wish = cloud_cluster.on_cpus(read_sample(STACKS / f"Pulumi.{SAMPLE}.yaml"), cluster.image, REPLACED, **mpi)
        hold_what_exists(stack.cloud, wish)
        api = connect(str(cluster.kubeconfig), None)

        def nodes_join() -> None:
            group = cloud_cluster.await_made(stack, NODE_GROUP, "batch")
            cloud_cluster.join(api, group["labels"], group["taints"])

        cloud_cluster.up_with(stack, wish, tmp_path / "up.log", nodes_join)
        verdict = stack.engine.outputs(stack.name)["validation"]["batch"]
        with capsys.disabled():
            print("\n".join(["", *(f"  {real}: {there}" for real, there in REPLACED.items()), describe("batch", verdict)]))
        cloud_cluster.assert_opened(api, verdict, wish)
        assert stack.succeed("up").keys() == {"unchanged"}
