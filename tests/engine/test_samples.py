"""Every AWS sample on the real engine: up, up again without a change, down. Both the cloud and the cluster are stand-ins."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufabric.plan.names import gate_names
from gpufabric.spec import CONFIG_KEY
from gpufabric.validation.contract import VERDICT_KEY
from tests.engine.stack import EngineStack, made_stack
from tools.folders import REPOSITORY

pytestmark = pytest.mark.engine

STACKS = REPOSITORY / "stacks"
SAMPLES = sorted(STACKS.glob("Pulumi.aws-*.yaml"))
VERDICT = {"outcome": "pass", "reason": "a stand-in cluster: nothing ran", "nodes": []}
# What the documentation says a destroy leaves: buckets with their settings, and file systems until their protection is taken.
STAYS = "aws:s3/"
FILESYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"


def read_sample(file: Path) -> dict[str, Any]:
    """The wish of a sample, its window moved to next week: what is declared depends on the time."""
    wish: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))["config"][CONFIG_KEY]
    now = datetime.now(UTC)
    for group in wish["node_groups"]:
        if "starts_at" in group.get("capacity", {}):
            window = {"starts_at": now + timedelta(days=7), "ends_at": now + timedelta(days=14)}
            group["capacity"] |= {key: f"{time:%Y-%m-%dT%H:%M:%SZ}" for key, time in window.items()}
    return wish


def hold_what_exists(stack: EngineStack, wish: dict[str, Any]) -> None:
    """Put everything into the account that the sample takes for granted, and the verdicts that nobody will write."""
    hold = stack.cloud.hold
    existing = wish.get("network", {}).get("existing", {})
    if existing:
        hold("aws:ec2/vpc:Vpc", existing["vpc"])
        for subnet in existing["subnets"]:
            hold("aws:ec2/subnet:Subnet", subnet, vpcId=existing["vpc"])
    for group in wish["node_groups"]:
        capacity = group.get("capacity", {})
        if "id" in capacity:
            hold("aws:ec2/capacityReservation:CapacityReservation", capacity["id"])
        if "placement_group" in capacity:
            name = capacity["placement_group"]
            hold("aws:ec2/placementGroup:PlacementGroup", name, name=name)
        names = gate_names(stack.name, group["name"], None)
        verdict = {VERDICT_KEY: json.dumps(VERDICT)}
        hold("kubernetes:core/v1:ConfigMap", f"{names.namespace}/{names.verdict}", data=verdict)


def unprotect(stack: EngineStack, count: int) -> None:
    """What the documentation advises: take the protection first. A destroy that meets it has deleted much by then."""
    kept = [each for each in stack.engine.resources(stack.name) if each.get("protect")]
    assert [each["type"] for each in kept] == [FILESYSTEM] * count
    if not kept:
        return
    refused = stack.run("destroy")
    assert refused.returncode != 0
    assert "cannot be deleted\n    because it is protected" in refused.stdout
    assert {each.id for each in stack.cloud.objects(FILESYSTEM)} == {each["id"] for each in kept}
    assert stack.cloud.objects("aws:ec2/vpc:Vpc"), "what it stands on is there, too"
    for each in kept:
        assert stack.engine.run("state", "unprotect", each["urn"], "--yes", "--stack", stack.name).returncode == 0


@pytest.mark.parametrize("sample", SAMPLES, ids=[file.name.split(".")[1] for file in SAMPLES])
def test_a_sample_goes_up_and_down(sample: Path, tmp_path: Path) -> None:
    wish = read_sample(sample)
    with made_stack(sample.name.split(".")[1], tmp_path, STACKS, "aws", "kubernetes") as stack:
        stack.write({CONFIG_KEY: wish})
        hold_what_exists(stack, wish)
        first = stack.succeed("up")
        assert first.keys() == {"created"}
        stack.assert_converged()
        verdicts = stack.engine.outputs(stack.name)["validation"]
        assert {each["outcome"] for each in verdicts.values()} == {"pass"}
        second = stack.succeed("up")
        assert second.keys() == {"unchanged"}, second

        unprotect(stack, len(wish.get("filesystems", {})))
        stack.succeed("destroy")
        left = stack.cloud.objects()
        assert {each.kind for each in left if not each.kind.startswith(STAYS)} == set()
        buckets = [each.id for each in left if each.kind == "aws:s3/bucket:Bucket"]
        assert sorted(buckets) == sorted(store["name"] for store in wish.get("stores", {}).values())
        assert stack.known() == set()
