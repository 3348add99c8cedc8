"""What comes from the distribution, and when."""

from pathlib import Path

import pytest

from tools.errors import ToolError
from tools.toolchain import cli, debian
from tools.toolchain.debian import BROWSER, CLUSTER, IMAGE, Requirement


def test_a_browser_is_installed_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Requirement, ...]] = []
    monkeypatch.setattr(cli, "ensure_packages", asked.append)
    monkeypatch.setattr(cli, "ensure_built", len)
    assert cli.ensure("browser") == 0
    assert asked == [BROWSER]
    assert cli.ensure("cluster") == 0
    assert asked == [BROWSER, CLUSTER + IMAGE]
    assert not set(BROWSER) & set(CLUSTER + IMAGE)


def test_a_kernel_for_disks_is_unpacked_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUFABRIC_CACHE", str(tmp_path))
    monkeypatch.setattr(debian, "USERMODE", ("no-such-package",))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ToolError, match="no-such-package"):
        cli.ensure("usermode")
    assert not debian.usermode_folder().exists()
    debian.usermode_folder().mkdir()
    assert cli.ensure("usermode") == 0, "what is there is taken as it is"
