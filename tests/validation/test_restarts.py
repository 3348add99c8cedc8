"""A coordinator that is started again because it was killed: once is a node's death, often is not, and memory is told."""

import json
from collections.abc import Iterator

import pytest

from gpufabric.validation import gate_json, restarts
from gpufabric.validation.api import Api
from gpufabric.validation.ending import Undecided
from tests.validation.fake_api import JOB_LABEL, NAMESPACE, Cluster
from tests.validation.samples import GATE

WISH = gate_json.parse(json.dumps(GATE))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def earlier(cluster: Cluster, number: int, code: int, reason: str = "Error", job: str = WISH.names.coordinator_job) -> None:
    """A pod of a coordinator that has ended, as the API shows it."""
    state = {"terminated": {"exitCode": code, "reason": reason}}
    cluster.put(
        f"/api/v1/namespaces/{NAMESPACE}/pods/{job}-{number}",
        {
            "metadata": {"labels": {JOB_LABEL: job}},
            "spec": {"nodeName": f"system-{number}", "containers": [{"name": "coordinator"}]},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "coordinator", "state": state}]},
        },
    )


def check(cluster: Cluster) -> list[str]:
    said: list[str] = []
    restarts.check(Api(cluster.url, None, dict), WISH, said.append)
    return said


def test_a_first_start_says_nothing(cluster: Cluster) -> None:
    earlier(cluster, 0, 137, job="another-gate")
    earlier(cluster, 1, 3)
    assert check(cluster) == []


@pytest.mark.parametrize(("code", "reason"), [(137, "ContainerStatusUnknown"), (255, "Unknown"), (137, "Error")])
def test_one_that_died_with_its_node_is_told_and_taken_over(cluster: Cluster, code: int, reason: str) -> None:
    earlier(cluster, 0, code, reason)
    (said,) = check(cluster)
    assert said.startswith(f"starting again: pod {WISH.names.coordinator_job}-0 on node system-0 ended with exit code {code}")


def test_it_does_not_go_on_for_ever(cluster: Cluster) -> None:
    for number in range(restarts.MOST):
        earlier(cluster, number, 137)
    with pytest.raises(Undecided) as caught:
        check(cluster)
    assert caught.value.reason.startswith("the coordinator was killed 3 times before it had a verdict: pod ")
    assert "system-2" in caught.value.reason
    assert "look at the nodes outside the groups" in caught.value.fix


def test_want_of_memory_is_told_at_once(cluster: Cluster) -> None:
    earlier(cluster, 0, 137, "OOMKilled")
    with pytest.raises(Undecided) as caught:
        check(cluster)
    assert "killed for want of memory" in caught.value.reason
    assert "(OOMKilled)" in caught.value.reason
