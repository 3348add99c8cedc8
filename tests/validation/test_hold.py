"""The hold's taint: set and taken away in a list that others write, too."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpufabric.validation import hold
from gpufabric.validation.api import Api, ApiError
from gpufabric.validation.contract import HOLD_TAINT, HOLD_TOLERATION, TAINT_HOLD
from tests.validation.fake_api import Cluster

OTHER = {"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "present"}
N0 = "/api/v1/nodes/n0"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    made.node("n0")
    yield made
    made.close()


def put(cluster: Cluster, *, wanted: bool, uid: str = "") -> None:
    hold.put(Api(cluster.url, None, dict, sleep=lambda _: None), "n0", wanted=wanted, uid=uid)


def taint(cluster: Cluster, *taints: Any) -> None:
    cluster.objects[N0]["spec"] = {"taints": list(taints)}


def test_one_taint_and_what_tolerates_it() -> None:
    assert HOLD_TAINT["effect"] == HOLD_TOLERATION["effect"] == "NoSchedule"
    assert HOLD_TAINT["key"] == HOLD_TOLERATION["key"] == TAINT_HOLD


def test_a_node_without_taints(cluster: Cluster) -> None:
    put(cluster, wanted=True)
    assert cluster.taints("n0") == [HOLD_TAINT]
    put(cluster, wanted=False)
    assert "taints" not in cluster.objects[N0]["spec"]


def test_other_taints_stay_as_they_are(cluster: Cluster) -> None:
    taint(cluster, OTHER)
    put(cluster, wanted=True)
    assert cluster.taints("n0") == [OTHER, HOLD_TAINT]
    put(cluster, wanted=False)
    assert cluster.taints("n0") == [OTHER]


def test_the_clouds_own_value_is_the_hold_too(cluster: Cluster) -> None:
    taint(cluster, {**HOLD_TAINT, "value": "created"}, OTHER)
    put(cluster, wanted=True)
    assert not cluster.asked("PATCH", "/nodes"), "nothing to do"
    put(cluster, wanted=False)
    assert cluster.taints("n0") == [OTHER]


def test_the_patch_tests_what_was_read(cluster: Cluster) -> None:
    taint(cluster, OTHER)
    put(cluster, wanted=True)
    (patch,) = cluster.asked("PATCH", "/nodes/n0")
    assert patch.content_type == "application/json-patch+json"
    assert patch.body[:2] == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-1"},
        {"op": "test", "path": "/spec/taints", "value": [OTHER]},
    ]


def test_who_was_faster_is_not_undone(cluster: Cluster) -> None:
    came = iter([OTHER])

    def meanwhile(cluster: Cluster, _: str) -> None:
        for new in came:
            taint(cluster, new)
            return

    cluster.at_patch = meanwhile
    put(cluster, wanted=True)
    assert cluster.taints("n0") == [OTHER, HOLD_TAINT]
    assert len(cluster.asked("PATCH", "/nodes/n0")) == 2


def test_it_gives_up_where_somebody_is_always_faster(cluster: Cluster) -> None:
    numbers = iter(range(100))
    cluster.at_patch = lambda cluster, _: taint(cluster, {**OTHER, "value": str(next(numbers))})
    with pytest.raises(ApiError) as caught:
        put(cluster, wanted=True)
    assert caught.value.status == 422
    assert len(cluster.asked("PATCH", "/nodes/n0")) == 6


def test_a_node_that_was_replaced_is_not_touched(cluster: Cluster) -> None:
    with pytest.raises(ApiError) as caught:
        put(cluster, wanted=True, uid="another")
    assert caught.value.status == 409
    assert cluster.taints("n0") == []
