"""What the agent reads from rclone's cache on disk, also while rclone writes it, or is gone."""

import json
import os
from pathlib import Path

from gpufabric.mounts.cache import Cache, Dirty
from gpufabric.mounts.figures import metrics_text, status_text
from gpufabric.mounts.sample import Sample, look


def item(folder: Path, name: str, content: bytes, record: object) -> Path:
    data, meta = folder / "vfs" / "store" / name, folder / "vfsMeta" / "store" / name
    for path in (data, meta):
        path.parent.mkdir(parents=True, exist_ok=True)
    data.write_bytes(content)
    meta.write_text(record if isinstance(record, str) else json.dumps(record))
    return meta


def test_dirty_files_are_counted_wherever_they_lie(tmp_path: Path) -> None:
    item(tmp_path, "a", b"12345", {"Dirty": True})
    item(tmp_path, "deep/er/b", b"123", {"Dirty": True})
    item(tmp_path, "c", b"1" * 100, {"Dirty": False})
    found = Cache(tmp_path).look()
    assert (found.files, found.bytes) == (2, 8)
    assert found.oldest == min((tmp_path / "vfs/store" / each).stat().st_mtime for each in ("a", "deep/er/b"))


def test_a_record_that_is_being_written_is_not_clean(tmp_path: Path) -> None:
    for number, text in enumerate(("", "{", "[]", '{"Size": 3}', "null")):
        item(tmp_path, f"{number}", b"1", text)
    assert Cache(tmp_path).look().files == 5


def test_a_record_that_changes_is_read_again_and_an_old_clean_one_is_not(tmp_path: Path) -> None:
    meta = item(tmp_path, "a", b"1", {"Dirty": False})
    os.utime(meta, (1_000_000, 1_000_000))
    cache = Cache(tmp_path)
    assert cache.look() == Dirty()
    meta.write_text(json.dumps({"Dirty": True}))
    assert cache.look().files == 1
    meta.write_text(json.dumps({"Dirty": False}))
    assert cache.look() == Dirty()
    meta.write_text(json.dumps({"Dirty": True}) + " ")
    assert cache.look().files == 1, "within the same tick of the clock, too: a young record is always read"


def test_no_cache_yet_and_files_set_aside(tmp_path: Path) -> None:
    assert Cache(tmp_path / "none").look() == Dirty()
    (tmp_path / "unrecorded/store").mkdir(parents=True)
    (tmp_path / "unrecorded/store/model.pt.1700000000").touch()
    assert Cache(tmp_path).look() == Dirty(unrecorded=1)


def test_without_rclone_the_records_still_say_what_is_left(tmp_path: Path) -> None:
    item(tmp_path, "a", b"12345", {"Dirty": True})
    found = look(tmp_path, str(tmp_path / "no.sock"), Cache(tmp_path))
    assert (found.mounted, found.left, found.dirty.bytes) == (False, 1, 5)
    assert found.message.startswith("rclone does not answer: ")


def test_a_status_is_one_line_per_key_whatever_a_file_is_called() -> None:
    text = status_text(Sample(mounted=True, message="upload of a=b fails"), run="r", heart=2, number=1)
    assert text.splitlines()[-1] == "message=upload of a=b fails"
    assert len(text.splitlines()) == 8


def test_every_figure_has_its_help_and_both_labels() -> None:
    lines = metrics_text(Sample(mounted=True), mount="ckpt", node="n0").splitlines()
    values = [line for line in lines if not line.startswith("#")]
    assert len(values) * 3 == len(lines) == 30
    assert all('{mount="ckpt",node="n0"} ' in each for each in values)
