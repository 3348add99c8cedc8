"""Every sample through Google's own provider: up, up and refresh without a change, down; and it sends what is on record."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

from gpufabric.spec import CONFIG_KEY
from tests.lives import selected, two_at_a_time
from tools.googleprovider.record import record_of
from tools.googleprovider.sample import sample_life
from tools.googleprovider.seeds import existing
from tools.judge.request import Record
from tools.samples.plans import RECORDED, config_of, samples

# The one with RDMA and the one with a VPC per card: both ways of a network. Buckets' members are in the soak's samples.
AT_ONCE = ("gcp-a3-mega", "gcp-a3-ultra")
SAMPLES = [pytest.param(name, marks=[] if name in AT_ONCE else pytest.mark.soak) for name in samples("gcp")]


def live(name: str, folder: Path) -> None:
    """One sample's life."""
    with sample_life(name, folder) as life:
        stack = life.stack
        stack.succeed("up")
        record = record_of(name, life.apis.exchanges)
        stack.succeed("up", "--expect-no-changes")
        stack.succeed("refresh", "--expect-no-changes")
        stack.unprotect()
        stack.succeed("destroy")
        left = life.held
    wish = config_of(samples("gcp")[name])[CONFIG_KEY]
    # What the documentation says a destroy leaves: buckets with who may use them.
    stay = {f"b/{store['name']}" for store in wish.get("stores", {}).values()}
    assert {path.partition("/iamPolicies/")[0] for path in left} == stay | set(existing(wish))
    assert record == Record.load(RECORDED / f"{name}.json"), "run `make record-google`"


@pytest.fixture(scope="module")
def lives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[None]]]:
    """Of the selected samples."""
    chosen = selected(request, "name", samples("gcp"))
    with two_at_a_time(chosen, lambda name: live(name, tmp_path_factory.mktemp(name))) as running:
        yield running


@pytest.mark.engine
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_goes_up_and_down(name: str, lives: Mapping[str, Future[None]]) -> None:
    lives[name].result()
