"""The page in a real browser: it is whole, its numbers are the verdict's, its script and style run, and nothing hostile does.

Needs Debian's chromium. Nothing is installed here: without one this is skipped, and says so.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gpufabric.report import page, read_verdicts
from tests.report.dom import Element, parse
from tests.report.verdicts import FAIL, PASS, changed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium", path="/usr/bin")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="NO BROWSER: the report page was not opened in one; install one: python3 -m tools.toolchain ensure browser",
)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def opened(file: Path, profile: Path) -> Element:
    """The document as it stands after the page's script has run."""
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return parse(done.stdout)


def test_a_browser_shows_the_numbers_of_the_verdicts_and_runs_nothing_else(tmp_path: Path) -> None:
    attack = "<script>document.documentElement.dataset.attacked='yes'</script><img src=x onerror=document.title='attacked'>"
    verdicts = [PASS, changed(FAIL, reason=attack, nodes=[attack, "n1"], stack=attack)]
    file = tmp_path / "report.html"
    file.write_text(page(read_verdicts(json.dumps(verdicts))), encoding="utf-8")
    found = opened(file, tmp_path / "profile")
    root = found.one("html").attributes
    assert root["data-ready"] == "yes", "the page's script did not run: is the policy's hash the script's?"
    assert "data-attacked" not in root
    assert not found.all("img")
    assert found.one("head").one("title").text == "Verdicts: train, slow"
    assert int(root["data-numbers"]) == len(found.all("data")) == len(parse(file.read_text("utf-8")).all("data"))
    for section, verdict in zip(found.all("section"), verdicts, strict=True):
        assert section.attributes["data-outcome"] == verdict["outcome"]
        measured = section.one("data", data_of="busbw_gbytes_per_s")
        assert float(measured.attributes["value"]) == verdict["busbw_gbytes_per_s"]
        assert measured.text == f"{verdict['busbw_gbytes_per_s']:.4g} GB/s"
        rows = [[each.numbers() for each in row] for row in section.cells("sizes")]
        assert [(row[0], row[1]) for row in rows] == [([each[0]], [each[3]]) for each in verdict["table"]]
        pairs = [each["busbw_gbytes_per_s"] for each in verdict.get("pairs", [])]
        assert [row[4].numbers() for row in section.cells("pairs")] == [[] if each is None else [each] for each in pairs]
        points = section.one("svg", class_="curve").all("circle")
        assert [float(each.attributes["data-busbw"]) for each in points] == [row[3] for row in verdict["table"]]
