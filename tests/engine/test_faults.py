"""What a failed or killed ``up`` leaves behind, and that the next one comes to the same end as if nothing had happened."""

import random
from pathlib import Path

import pytest

from tests.engine.stack import EngineStack

pytestmark = pytest.mark.engine

MADE = (
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:iam/role:Role",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:eks/cluster:Cluster",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:eks/nodeGroup:NodeGroup",
    "aws:s3/bucket:Bucket",
)
few = [1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 21))]


def test_a_failure_half_way_keeps_what_was_made_and_the_next_up_makes_the_rest(plain: EngineStack) -> None:
    says = "InsufficientInstanceCapacity: no capacity of p5.48xlarge in us-east-2b"
    plain.cloud.fault(operation="create", kind="aws:eks/nodeGroup:NodeGroup", says=says)
    failed = plain.run("up")
    assert failed.returncode != 0
    assert says in failed.stdout
    assert len(plain.cloud.objects()) == len(MADE)  # all but the group: two subnets
    plain.assert_converged()
    assert plain.succeed("up")["created"] == 1
    plain.assert_converged()


@pytest.mark.parametrize("seed", few)
def test_an_up_killed_anywhere_is_resumed(plain: EngineStack, tmp_path: Path, seed: int) -> None:
    """Killed in the middle of a call, before or after it took effect; nobody has noted the id of what was made."""
    choice = random.Random(seed)  # noqa: S311 - a seed, not a secret
    kind, moment = choice.choice(MADE), choice.choice(("before", "after"))
    fault = plain.cloud.fault(operation="create", kind=kind, does="hang", at=moment)
    plain.kill_at(fault, "up", tmp_path / "up.log")
    lost = plain.orphans()
    settled = plain.resume()
    assert plain.orphans() == set(), f"{kind} {moment}: {settled}"
    assert {key for _, key in lost} <= set(settled.values())
    assert lost or moment == "before"
    plain.succeed("up")
    plain.assert_converged()
    assert plain.succeed("up") == {"unchanged": len(MADE) + 2}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_destroy_killed_anywhere_is_resumed(plain: EngineStack, tmp_path: Path, seed: int) -> None:
    plain.succeed("up")
    choice = random.Random(seed)  # noqa: S311
    kind, moment = choice.choice(MADE[:-1]), choice.choice(("before", "after"))  # the bucket is not deleted
    fault = plain.cloud.fault(operation="delete", kind=kind, does="hang", at=moment)
    plain.kill_at(fault, "destroy", tmp_path / "destroy.log")
    plain.resume()
    plain.succeed("destroy")
    assert [each.kind for each in plain.cloud.objects()] == ["aws:s3/bucket:Bucket"]
