"""The ladder's lists: what they name is there, and nothing of tests/ is left out."""

from tools import rungs
from tools.folders import REPOSITORY


def test_what_the_ladder_names_is_there() -> None:
    for path in (each for paths in rungs.LADDER.values() for each in paths):
        assert (REPOSITORY / path).exists(), path


def test_every_file_of_the_local_rung_is_in_one_lane() -> None:
    local = rungs.LADDER["local"][0]
    there = [file.stem.removeprefix("test_") for file in (REPOSITORY / local).glob("test_*.py")]
    assert sorted(there) == sorted(each for lane in rungs.LANES.values() for each in lane)


def test_every_folder_with_tests_is_on_a_rung() -> None:
    named = [REPOSITORY / path for paths in rungs.LADDER.values() for path in paths]
    for file in (REPOSITORY / "tests").rglob("test_*.py"):
        assert any(file == path or file.is_relative_to(path) for path in named), file
