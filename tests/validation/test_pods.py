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
