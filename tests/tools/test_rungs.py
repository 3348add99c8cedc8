"""The ladder's lists: what they name is there, and nothing of tests/ is left out."""

from tools import rungs
from tools.folders import REPOSITORY


def test_what_the_lists_name_is_there() -> None:
    for path in (*rungs.SECOND_LANE, *(each for paths in rungs.LADDER.values() for each in paths)):
        assert (REPOSITORY / path).exists(), path
    assert all(path.startswith("tests/local/") for path in rungs.SECOND_LANE)


def test_every_folder_with_tests_is_on_a_rung() -> None:
    named = [REPOSITORY / path for paths in rungs.LADDER.values() for path in paths]
    for file in (REPOSITORY / "tests").rglob("test_*.py"):
        assert any(file == path or file.is_relative_to(path) for path in named), file
