"""The example: gpufabric's node group, gate and profile in a stack that brings its own VPC and EKS cluster."""

import runpy
from pathlib import Path

import pytest
from pulumi.runtime import set_all_config

from tests.aws.cloud import COMPUTED
from tests.kubernetes.mocked import Recording, run, verdicts

EXAMPLE = Path(__file__).parents[2] / "examples" / "eks-node-group" / "__main__.py"
CONFIG = {
    "image": "registry.example/gate@sha256:" + "0" * 64,
    "trainerImage": "registry.example/trainer:1",
    "reservation": "cr-0123456789abcdef0",
    "kubeconfig": "{}",
}


@pytest.fixture(scope="module")
def recording() -> Recording:
    def program() -> None:
        set_all_config({f"gpufabric:{key}": value for key, value in CONFIG.items()})  # texts, not JSON
        runpy.run_path(str(EXAMPLE), run_name="__main__")

    return run(program, cluster=verdicts(), computed=COMPUTED)


def test_nothing_of_theirs_is_changed(recording: Recording) -> None:
    theirs = {each.label for each in recording.resources if not each.parent and each.type.startswith("aws:")}
    assert theirs == {
        "aws:ec2/vpc:Vpc acme",
        "aws:ec2/subnet:Subnet acme-us-east-2a",
        "aws:ec2/subnet:Subnet acme-us-east-2b",
        "aws:iam/role:Role acme-cluster",
        "aws:eks/cluster:Cluster acme",
    }
    made = [each.type.split(":")[-1] for each in recording.resources if each.parent == "gpufabric:index:AwsNetwork efa"]
    assert sorted(made) == ["SecurityGroup", "SecurityGroupEgressRule", "SecurityGroupIngressRule"]


def test_the_nodes_are_in_their_cluster_and_subnet(recording: Recording) -> None:
    group = recording.one("NodeGroup").inputs
    assert (group["clusterName"], group["subnetIds"]) == ("acme", ["id-of-acme-us-east-2b"])
    interfaces = recording.one("LaunchTemplate").inputs["networkInterfaces"]
    assert {tuple(each["securityGroups"]) for each in interfaces} == {("sg-00000000000000c1c", "id-of-efa-efa")}


def test_the_job_has_what_the_gate_validated_and_waits_for_it(recording: Recording) -> None:
    job = recording.one("Job", "finetune")
    (container,) = job.inputs["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
    }
    assert container["resources"]["requests"] == {"cpu": "1"}, "Kubernetes refuses huge pages alone"
    assert job.inputs["spec"]["template"]["spec"]["nodeSelector"] == {"gpufabric.dev/node-group": "train"}
    assert "kubernetes:batch/v1:Job train-job" in job.options["dependencies"]
    assert recording.outputs["verdict"]["outcome"] == "pass"
