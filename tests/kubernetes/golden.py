"""Golden files: what is compared is text that a person reviews in a diff."""

import os
from difflib import unified_diff
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "golden"
AGAIN = "GPUFABRIC_REGOLD=1 .venv/bin/pytest tests/kubernetes"


def same_as_golden(name: str, text: str) -> None:
    """Fail with a diff where ``text`` is not what tests/golden/``name`` holds; with GPUFABRIC_REGOLD=1 write it instead."""
    file = FOLDER / name
    if os.environ.get("GPUFABRIC_REGOLD") == "1":
        file.write_text(text, encoding="utf-8")
        return
    held = file.read_text(encoding="utf-8") if file.exists() else ""
    if held != text:
        diff = list(unified_diff(held.splitlines(), text.splitlines(), f"golden/{name}", "now", lineterm="", n=2))
        shown = "\n".join(diff[:80]) + (f"\n... {len(diff) - 80} lines more" if len(diff) > 80 else "")
        pytest.fail(f"{shown}\n\nIf this change is wanted, run\n  {AGAIN}\nand review git diff tests/golden", pytrace=False)
