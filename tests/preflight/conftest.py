"""What every preflight test needs: a cluster, a kubeconfig, no proxies, no pauses."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpufabric.preflight import connect, kubernetes
from gpufabric.validation.api import Api
from tests.preflight.cluster import FakeCluster
from tests.preflight.google_project import Project


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the machine's proxies nor its kubeconfig; retries do not pause."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def impatient(kubeconfig: str | None, context: str | None) -> Api:
        api = connect(kubeconfig, context)
        api.sleep = lambda _: None
        return api

    monkeypatch.setattr(kubernetes, "connect", impatient)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    found = FakeCluster()
    yield found
    found.close()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project of Google Cloud in which all is well, and a machine with all programs."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    found = Project(tmp_path)
    with found.apis:
        yield found
