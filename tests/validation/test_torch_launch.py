"""The launcher of the torch backend, with real processes that play ranks: each way to end, and that nothing is left running."""

import importlib.util
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import contract, torch_launch
from gpufabric.validation.torch_launch import LaunchError, Place

ENVIRONMENT = {
    **contract.rank_environment(
        nodes=2,
        ranks_per_node=2,
        host_prefix="train-ranks",
        service="train-ranks",
        start_s=5,
        benchmark_s=5,
        deadline_s=60,
        min_bytes=1024,
        max_bytes=4096,
        factor=4,
        interface="lo",
    ),
    contract.ENV_INDEX: "0",
    contract.ENV_INSIDE_RANKS: "3",
    contract.ENV_INSIDE_SECONDS: "7",
}
PLACE = Place(index=0, nodes=1, ranks=2, host="localhost", port=29500, interface="lo", meet_s=5, sweep_s=5)
MET = 'os.write(events, b"met\\n")'


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A rank that is a few lines of Python; `rank` and `events` are there."""
    monkeypatch.setattr(torch_launch, "MODULE", "rank_player")
    monkeypatch.setattr(torch_launch, "_CAUSE_SECONDS", 0.2)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PLAYED": str(tmp_path)}

    def launch(text: str, place: Place = PLACE) -> int:
        head = 'import os, sys, time, signal\nrank = int(os.environ["RANK"])\n'
        head += 'events = int(sys.argv[sys.argv.index("--events") + 1])\n'
        pids = 'open(os.path.join(os.environ["PLAYED"], f"pid-{rank}"), "w").write(str(os.getpid()))\n'
        (tmp_path / "rank_player.py").write_text(head + pids + text)
        return torch_launch.launch(place, ["--device", "cpu"], environment)

    yield launch
    for file in tmp_path.glob("pid-*"):
        assert not Path(f"/proc/{file.read_text()}").exists(), "a rank was left running"


def reason_of(play: Any, text: str, place: Place = PLACE) -> tuple[int, str]:
    with pytest.raises(LaunchError) as caught:
        play(text, place)
    return caught.value.code, str(caught.value)


def test_all_ranks_well(play: Any) -> None:
    assert play(MET) == 0


def test_wrong_sums_are_an_exit_code_and_no_error(play: Any) -> None:
    assert play(f"{MET}; sys.exit(1)") == 1


def test_ranks_know_who_they_are(play: Any, tmp_path: Path) -> None:
    place = replace(PLACE, index=1, nodes=2)
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "GLOO_SOCKET_IFNAME")
    text = f'open(os.path.join(os.environ["PLAYED"], f"said-{{rank}}"), "w").write(" ".join(os.environ[n] for n in {names}))'
    assert play(f"{text}; print(sys.argv[1:])", place) == 0
    assert [(tmp_path / f"said-{rank}").read_text() for rank in (2, 3)] == ["2 0 4 lo", "3 1 4 lo"]


def test_a_killed_rank_is_the_cause_not_the_one_that_lost_it(play: Any) -> None:
    """Rank 1 is killed a moment after rank 0 has seen its connection break."""
    text = f"""{MET}
if rank == 0:
    os.write(events, b"75 rank 0 on here: Connection closed by peer\\n")
    sys.exit(75)
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert reason_of(play, text)[0] == 75
    assert reason_of(play, f"{MET}\nif rank == 1: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(30)") == (
        75,
        "rank 1 was killed by signal 9 (Killed)",
    )


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            'os.write(events, b"70 rank 0 on here: torch cannot be imported\\n"); sys.exit(70)',
            70,
            "rank 0 on here: torch cannot be",
        ),
        ('os.write(events, b"72 rank 0: nobody came\\n"); sys.exit(72)', 72, "rank 0: nobody came"),
        ("sys.exit(2)", 2, "a rank ended with exit code 2"),
    ],
)
def test_the_reason_of_a_rank_is_the_reason(play: Any, text: str, code: int, says: str) -> None:
    found, reason = reason_of(play, text)
    assert found == code
    assert reason.startswith(says)


def test_a_hang_ends_by_the_clock_also_where_a_rank_is_stopped(play: Any) -> None:
    text = f"{MET}\nif rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(30)"
    begin = time.monotonic()
    assert reason_of(play, text, replace(PLACE, sweep_s=1)) == (124, "the benchmark did not end within 1 s and was stopped")
    assert time.monotonic() - begin < 10


def test_ranks_that_do_not_meet_end_by_another_clock(play: Any) -> None:
    assert reason_of(play, "time.sleep(30)", replace(PLACE, meet_s=1)) == (
        72,
        "the ranks did not meet at localhost:29500 within 1 s",
    )


def test_a_late_name_is_waited_for(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = socket.getaddrinfo, list[str]()

    def late(host: str, port: int) -> Any:
        asked.append(host)
        if len(asked) < 3:
            raise socket.gaierror(-2, "Name or service not known")
        return real("localhost", port)

    monkeypatch.setattr(socket, "getaddrinfo", late)
    assert play(MET, replace(PLACE, index=1, host="train-ranks-0.train-ranks")) == 0
    assert asked == ["train-ranks-0.train-ranks"] * 3


def test_a_name_that_never_comes(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(host: str, port: int) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", never)
    place = replace(PLACE, index=1, host="train-ranks-0.train-ranks", meet_s=0)
    assert reason_of(play, MET, place) == (
        72,
        "the name of index 0 (train-ranks-0.train-ranks) is not known after 0 s: Name or service not known",
    )


def test_places() -> None:
    first = Place.of(ENVIRONMENT)
    assert first == Place(index=0, nodes=2, ranks=2, host="localhost", port=29500, interface="lo", meet_s=12, sweep_s=5)
    second = Place.of({**ENVIRONMENT, contract.ENV_INDEX: "1"})
    assert (second.host, second.sweep_s) == ("train-ranks-0.train-ranks", 25), "index 0 has the word on the time"
    inside = second.inside(ENVIRONMENT)
    assert (inside.index, inside.nodes, inside.ranks, inside.host, inside.port) == (0, 1, 3, "localhost", 29501)
    assert (inside.meet_s, inside.sweep_s) == (7, 7)


def test_an_image_without_torch_is_told_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    file = tmp_path / "reason"
    assert torch_launch.main(["--check", "--reason", str(file)], ENVIRONMENT) == 70
    assert file.read_text() == f"the image has no torch for its python3 ({sys.executable})\n"
