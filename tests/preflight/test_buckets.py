"""What the mounts of roles need to find: without it they would wait for ever, and nothing would say why."""

from pathlib import Path
from typing import Any

import pytest

from tests.plan.storage.test_own_cluster import OWN
from tests.preflight.cluster import FakeCluster, status
from tests.preflight.test_kubernetes import ASK, LACK, problems
from tests.spec.specs import plan_of

RAW: dict[str, Any] = {**OWN, "storage": {"model": {}, "checkpoint": {}}}
SPACE = "/api/v1/namespaces/training"
SECRET = f"{SPACE}/secrets/keys"
NOT_FOUND = status(404, "NotFound", "not found")


@pytest.fixture
def whole(cluster: FakeCluster) -> FakeCluster:
    """A cluster with all that the roles take for granted."""
    cluster.nodes = []
    cluster.add_groups(plan_of(RAW))
    return cluster


def test_a_cluster_with_the_keys_has_what_it_needs(whole: FakeCluster, tmp_path: Path) -> None:
    assert problems(whole, RAW, tmp_path) == []


def test_without_roles_nobody_looks_for_keys(whole: FakeCluster, tmp_path: Path) -> None:
    assert problems(whole, OWN, tmp_path) == []
    assert not any("secrets" in at for _, at, _ in whole.asked)


def test_no_namespace_is_said_once_for_all_roles(whole: FakeCluster, tmp_path: Path) -> None:
    whole.errors[SPACE] = NOT_FOUND
    assert problems(whole, RAW, tmp_path) == [
        (
            "stores.weights.namespace: there is no namespace training; make it first (kubectl create namespace training), or "
            "name others"
        )
    ]


def test_no_secret(whole: FakeCluster, tmp_path: Path) -> None:
    whole.errors[SECRET] = NOT_FOUND
    assert problems(whole, RAW, tmp_path) == [
        (
            "stores.weights.credentials_secret: there is no Secret keys in training; make it first, with AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        )
    ]


def test_a_secret_with_other_keys(whole: FakeCluster, tmp_path: Path) -> None:
    whole.found[SECRET] = {"data": {"AWS_ACCESS_KEY_ID": "a2V5", "secret": "a2V5"}}
    assert problems(whole, RAW, tmp_path) == [
        "stores.weights.credentials_secret: the Secret keys in training lacks AWS_SECRET_ACCESS_KEY; write these keys into it"
    ]


def test_who_may_not_read_secrets_may_go_on(whole: FakeCluster, tmp_path: Path) -> None:
    whole.errors[SECRET] = status(403, "Forbidden", "secrets is forbidden")
    assert problems(whole, RAW, tmp_path) == []


def test_missing_permissions(whole: FakeCluster, tmp_path: Path) -> None:
    whole.denied = {"create daemonsets"}
    assert problems(whole, RAW, tmp_path) == [f"{LACK} create daemonsets.apps; {ASK}"]
