"""`make up` works on a copy of the sample: what is put into it, what of Pulumi's stays in it, and how a verdict is printed."""

from pathlib import Path

import pytest

from gpufabric.plan import resolve_any
from gpufabric.spec import read_stack_file
from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.up import describe, write_copy

SAMPLE = REPOSITORY / "stacks" / "Pulumi.local.yaml"


def test_a_copy_is_a_stack_file_and_the_sample_stays(tmp_path: Path) -> None:
    before = SAMPLE.read_text("utf-8")
    write_copy(SAMPLE, tmp_path / "Pulumi.dev.yaml")
    found = read_stack_file(tmp_path / "Pulumi.dev.yaml")
    assert resolve_any(found.spec, found.stack).groups[0].gate.gate.run == 1
    assert SAMPLE.read_text("utf-8") == before


def test_the_run_counter_is_set_and_stays_until_another_is_given(tmp_path: Path) -> None:
    copy = tmp_path / "Pulumi.dev.yaml"
    for given, wanted in ((2, 2), (None, 2), (5, 5), (None, 5)):
        write_copy(SAMPLE, copy, given)
        assert read_stack_file(copy).spec.validation.run == wanted


def test_pulumis_own_keys_stay_in_the_copy(tmp_path: Path) -> None:
    copy = tmp_path / "Pulumi.dev.yaml"
    write_copy(SAMPLE, copy)
    copy.write_text("encryptionsalt: v1:abc\n" + copy.read_text("utf-8"), encoding="utf-8")
    write_copy(SAMPLE, copy, 3)
    assert copy.read_text("utf-8").count("encryptionsalt: v1:abc\n") == 1
    assert read_stack_file(copy).spec.validation.run == 3


def test_a_sample_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"nowhere\.yaml: No such file"):
        write_copy(tmp_path / "nowhere.yaml", tmp_path / "Pulumi.dev.yaml")


def test_a_verdict_is_printed_with_its_table_and_its_stand_ins() -> None:
    verdict: dict[str, object] = {
        "outcome": "pass",
        "reason": "busbw 0.07 GB/s at 4 KiB, at least 0.02 GB/s",
        "table": [[1024, 30.6, 0.0334, 0.0334, 0, 31.0, 0.033, 0.033, 0], [4096, None, None, 0.07, 0]],
        "stand_ins": ["CPU processes stand in"],
    }
    lines = describe("train", verdict).splitlines()
    assert lines[0] == "train: PASS busbw 0.07 GB/s at 4 KiB, at least 0.02 GB/s"
    assert lines[2].split() == ["1024", "30.6", "0.0334", "0.0334", "0"]
    assert lines[3].split() == ["4096", "N/A", "N/A", "0.0700", "0"]
    assert lines[-1] == "note: CPU processes stand in"
    assert describe("train", {}) == "train: NONE"
