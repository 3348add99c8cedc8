"""Every sample through Google's own provider: up, up and refresh without a change, down; and it sends what is on record."""

from pathlib import Path

import pytest

from gpufabric.spec import CONFIG_KEY
from tools.googleprovider.record import record_of
from tools.googleprovider.sample import sample_life
from tools.googleprovider.seeds import existing
from tools.judge.request import Record
from tools.samples.plans import RECORDED, config_of, samples

# The one with RDMA networks and every kind of storage, and the one that makes no network.
AT_ONCE = ("gcp-a3-ultra", "gcp-existing-network")
SAMPLES = [pytest.param(name, marks=[] if name in AT_ONCE else pytest.mark.soak) for name in samples("gcp")]


@pytest.mark.engine
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_goes_up_and_down(name: str, tmp_path: Path) -> None:
    with sample_life(name, tmp_path) as life:
        stack = life.stack
        stack.succeed("preview")
        assert not life.apis.changes(), "a preview changes nothing"
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
    on_record = Record.load(RECORDED / f"{name}.json")
    assert record == on_record, "run `make record-google`"
