"""One stack from its first preview to its destruction, on the real engine."""

import pytest

from tests.engine.conftest import CONFIG
from tests.engine.stack import EngineStack

pytestmark = pytest.mark.engine

RESOURCES = 11  # with the stack itself
SECRET = "#!/bin/sh\n# the word is open-sesame"


def one(stack: EngineStack, kind: str) -> dict[str, object]:
    """Properties of the only object of a kind."""
    (found,) = stack.cloud.objects(kind)
    return found.properties


def test_a_preview_creates_nothing(lived: EngineStack) -> None:
    assert lived.succeed("preview") == {"to create": RESOURCES}
    assert lived.cloud.objects() == []
    assert lived.cloud.calls() == []


def test_an_up_creates_what_the_preview_showed(lived: EngineStack) -> None:
    assert lived.succeed("up") == {"created": RESOURCES}
    lived.assert_converged()
    nics = one(lived, "aws:ec2/launchTemplate:LaunchTemplate")["networkInterfaces"]
    assert isinstance(nics, list)
    assert [nic["networkCardIndex"] for nic in nics] == list(range(32))


def test_a_second_up_asks_for_nothing(lived: EngineStack) -> None:
    before = lived.cloud.calls()
    assert lived.succeed("up") == {"unchanged": RESOURCES}
    assert lived.cloud.calls() == before


def test_what_others_changed_and_deleted_is_put_right(lived: EngineStack) -> None:
    lived.cloud.drift("aws:ec2/vpc:Vpc", "tags.owner", "somebody else")
    lived.cloud.lose("aws:eks/nodeGroup:NodeGroup")
    seen = lived.succeed("refresh")
    assert (seen["updated"], seen["deleted"]) == (1, 1)
    assert lived.succeed("up") == {"created": 1, "updated": 1, "unchanged": RESOURCES - 2}
    assert one(lived, "aws:ec2/vpc:Vpc")["tags"] == {"owner": "tests"}
    lived.assert_converged()


def test_another_template_moves_the_group_to_its_new_version(lived: EngineStack) -> None:
    """And a secret in it reaches the cloud, but neither the state nor the log in plain text."""
    (before,) = lived.cloud.objects("aws:eks/nodeGroup:NodeGroup")
    lived.write({**CONFIG, "plain:machine": "p5en.48xlarge"})
    lived.engine.run("config", "set", "--secret", "plain:user_data", SECRET, "--stack", lived.name)
    done = lived.run("up")
    assert done.returncode == 0, done.stdout
    (after,) = lived.cloud.objects("aws:eks/nodeGroup:NodeGroup")
    assert after.id == before.id
    assert after.properties["launchTemplate"]["version"] == "2"
    assert one(lived, "aws:ec2/launchTemplate:LaunchTemplate")["userData"] == SECRET
    states = (lived.engine.state / "backend").rglob("*.json")
    assert "open-sesame" not in done.stdout + "".join(file.read_text("utf-8") for file in states)


def test_a_change_that_needs_a_new_object_replaces_it_and_what_hangs_on_it(lived: EngineStack) -> None:
    (before,) = lived.cloud.objects("aws:eks/cluster:Cluster")
    lived.write({**CONFIG, "plain:cluster": "another"})
    summary = lived.succeed("up")
    assert summary["replaced"] == 2, summary
    (after,) = lived.cloud.objects("aws:eks/cluster:Cluster")
    assert (before.id[:5], after.id) == ("train", "another")
    lived.assert_converged()


def test_a_destroy_leaves_the_retained_bucket_and_nothing_else(lived: EngineStack) -> None:
    lived.succeed("destroy")
    assert [each.kind for each in lived.cloud.objects()] == ["aws:s3/bucket:Bucket"]
    assert lived.known() == set()
