"""The agent beside the disks: what it tells of which node, when, and when it takes it back."""

from pathlib import Path

import pytest

from gpufabric.local_nvme import agent, contract
from gpufabric.local_nvme.agent import Agent, node_labels, size_gib
from gpufabric.validation.api import ApiError


def test_only_a_file_system_of_ours_has_a_size(tmp_path: Path) -> None:
    assert size_gib(tmp_path / "nowhere") is None
    assert size_gib(tmp_path) is None, "a folder of the root disk, or somebody else's mount"
    (tmp_path / contract.MARKER).touch()
    found = size_gib(tmp_path)
    assert found is not None
    assert found >= 0


def test_a_label_or_none() -> None:
    assert node_labels("n1", 28000)["metadata"] == {"name": "n1", "labels": {"gpufabric.dev/local-nvme-gib": "28000"}}
    assert node_labels("n1", None)["metadata"] == {"name": "n1", "labels": {}}


def test_it_tells_what_changed_and_takes_it_back_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int | None] = []
    one = Agent(tmp_path, told.append)
    sizes = iter([None, None, 28000, 28000])
    monkeypatch.setattr(agent, "size_gib", lambda _: next(sizes))
    for _ in range(4):
        one.step()
    assert told == [None, 28000], "a label of a node that was here before is taken away, too"
    one.step(ending=True)
    assert told[2:] == [None]


def test_a_cluster_that_does_not_answer_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def tell(size: int | None) -> None:
        asked.append(size)
        if len(asked) == 1:
            raise ApiError("PATCH", 503, "Unavailable", "later")

    monkeypatch.setattr(agent, "size_gib", lambda _: 28000)
    one = Agent(tmp_path, tell)
    for _ in range(3):
        one.step()
    assert asked == [28000, 28000]


def test_what_was_told_long_ago_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that was registered anew came without its labels."""
    told: list[int | None] = []
    now = iter([0.0, 10.0, 400.0])
    monkeypatch.setattr(agent, "size_gib", lambda _: 28000)
    monkeypatch.setattr("time.monotonic", lambda: next(now, 500.0))
    one = Agent(tmp_path, told.append)
    for _ in range(3):
        one.step()
    assert told == [28000, 28000]
