"""What comes from the distribution, and when."""

import pytest

from tools.toolchain import cli
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
