"""Rank pods as data: what is said of their hosts."""

import pytest

from gpufabric.validation import pods
from gpufabric.validation.pods import Pod


def of_node(index: int, node: str) -> Pod:
    return Pod(f"train-ranks-{index}-x7f2k", index, node, "Running", deleting=False, disruption="", unschedulable="")


PODS = [of_node(0, "gpu-a"), of_node(1, "gpu-b"), of_node(11, "gpu-l"), of_node(12, "")]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Connection to train-ranks-1.train-ranks closed.", "Connection to train-ranks-1.train-ranks (node gpu-b) closed."),
        ("'train-ranks-1:7:9 [0] NCCL INFO x'", "'train-ranks-1 (node gpu-b):7:9 [0] NCCL INFO x'"),
        ("train-ranks-11 lost train-ranks-1", "train-ranks-11 (node gpu-l) lost train-ranks-1 (node gpu-b)"),
        ("train-ranks-0, train-ranks-0", "train-ranks-0 (node gpu-a), train-ranks-0"),
        ("pod train-ranks-1-x7f2k", "pod train-ranks-1-x7f2k"),
        ("other-train-ranks-1", "other-train-ranks-1"),
        ("train-ranks-12 has no node yet, train-ranks-7 no pod", "train-ranks-12 has no node yet, train-ranks-7 no pod"),
    ],
)
def test_hosts_are_told_with_their_nodes(said: str, told: str) -> None:
    assert pods.with_nodes(said, "train-ranks", PODS) == told


def test_a_sidecar_that_cannot_start_is_told_with_its_image() -> None:
    """The others wait for it and have nothing to say."""
    waiting = {"state": {"waiting": {"reason": "PodInitializing"}}}
    stuck = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}
    crashed = {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}
    spec = {
        "initContainers": [{"name": "tcpxo-daemon", "image": "x/rxdm:1"}],
        "containers": [{"name": "rank", "image": "x/n:1"}],
    }
    for state, found in ((stuck, pods.waiting_image), (crashed, pods.waiting_create)):
        status = {
            "initContainerStatuses": [{"name": "tcpxo-daemon", "image": "", **state}],
            "containerStatuses": [{"name": "rank", "image": "", **waiting}],
        }
        pod = pods.of({"metadata": {"name": "train-ranks-0"}, "spec": spec, "status": status})
        named = found(pod)
        assert named is not None
        assert (named.name, named.image) == ("tcpxo-daemon", "x/rxdm:1")
        assert not pod.started
