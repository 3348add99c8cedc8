"""Files that the rank container leaves for the judge beside it, of any size and at any moment."""

import os
from pathlib import Path
from typing import Final

_SMALL_LETTERS: Final = 4000
_HEAD_BYTES: Final = 2 << 20
TAIL_BYTES: Final = 6 << 20


def small(path: Path) -> str:
    """A small text file; empty where it is not there."""
    try:
        return path.read_text("utf-8", "replace")[:_SMALL_LETTERS].strip()
    except OSError:
        return ""


def number_in(path: Path) -> int | None:
    """The whole number that a file holds; None for anything else."""
    text = small(path)
    return int(text) if text.isascii() and text.isdigit() else None


def text_of(path: Path) -> str:
    """A benchmark's output; of a very long one the beginning (rank list) and the end (rows, footer)."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(len(head), size - TAIL_BYTES))
            return (head + file.read(TAIL_BYTES)).decode("utf-8", "replace")
    except OSError:
        return ""


def write_whole(path: Path, text: str) -> None:
    """Write beside and rename, so that nobody reads half of it."""
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text, "utf-8")
    beside.replace(path)
