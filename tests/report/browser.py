"""A page in Debian's chromium. Nothing is installed here: without one such a test is skipped, and says so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.dom import Element, parse

CHROMIUM = shutil.which("chromium") or shutil.which("chromium", path="/usr/bin")
with_browser = pytest.mark.skipif(
    CHROMIUM is None,
    reason="NO BROWSER: no page was opened in one; install one: python3 -m tools.toolchain ensure browser",
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
