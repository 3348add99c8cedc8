"""Every sample on the real engine: up, up again without a change, down. Both the cloud and the cluster are stand-ins."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from gpufabric.spec import CONFIG_KEY
from tests.engine.samples import (
    CLOUDS,
    SAMPLES,
    Cloud,
    hold_what_exists,
    name_of,
    read_sample,
    what_the_preflight_asks,
)
from tests.engine.stack import EngineStack, made_stack
from tests.kubernetes.golden import FOLDER
from tests.kubernetes.stack_plans import STACKS
from tests.lives import selected, two_at_a_time
from tools.folders import REPOSITORY
from tools.standin.verdicts import hold_verdicts

pytestmark = pytest.mark.engine

# Between them they have every kind of resource of any sample, and a network that was there before; the rest is for the soak.
AT_ONCE = (
    *("aws-p5", "aws-p5en-capacity-block", "aws-existing-vpc"),
    *("gcp-a3-mega", "gcp-a3-ultra", "gcp-a3-ultra-queued", "gcp-a4"),
    *("local-queue", "onprem-h100-infiniband"),
)
CHOSEN = [pytest.param(each, id=name_of(each), marks=[] if name_of(each) in AT_ONCE else pytest.mark.soak) for each in SAMPLES]


def unprotect(stack: EngineStack, wish: dict[str, Any], cloud: Cloud) -> None:
    """As the documentation says: a destroy stops at what is protected before anything is removed; then ``protect: false``."""
    kept = [each for each in stack.engine.resources(stack.name) if each.get("protect")]
    assert {each["type"] for each in kept} <= cloud.filesystems
    assert len(kept) == len(cloud.made(wish, "filesystems"))
    if not kept:
        return
    refused = stack.engine.run("destroy", "--yes", "--stack", stack.name)
    assert refused.returncode != 0
    assert "cannot be deleted\n    because it is protected" in refused.stdout
    stack.assert_converged()
    given_up = {key: {**each, "protect": False} for key, each in wish["filesystems"].items()}
    stack.write({CONFIG_KEY: {**wish, "filesystems": given_up}})
    assert stack.succeed("up").keys() == {"unchanged"}, "protection is Pulumi's alone"


def live(sample: Path, folder: Path) -> None:
    """One sample's life."""
    wish = read_sample(sample)
    cloud, providers = CLOUDS[wish["cloud"]], {wish["cloud"], "kubernetes"}
    with (
        what_the_preflight_asks(wish, folder) as kubeconfig,
        made_stack(name_of(sample), folder, STACKS, *providers, kubeconfig=kubeconfig) as stack,
    ):
        stack.write({CONFIG_KEY: wish})
        hold_what_exists(stack.cloud, wish)
        hold_verdicts(stack.cloud, stack.name, wish)
        first = stack.succeed("up")
        assert first.keys() == {"created"}
        stack.assert_converged()
        verdicts = stack.engine.outputs(stack.name)["validation"]
        assert {each["outcome"] for each in verdicts.values()} == {"pass"}
        # With the policy pack beside it: all values are known now, and a mandatory rule that is broken fails an `up`.
        second = stack.succeed("up", "--policy-pack", str(REPOSITORY / "policies"))
        assert second.keys() == {"unchanged"}, second
        unprotect(stack, wish, cloud)
        stack.succeed("destroy")
        left = stack.cloud.objects()
        assert {each.kind for each in left if not each.kind.startswith(cloud.stays)} == set()
        buckets = [each.id for each in left if each.kind == cloud.bucket]
        assert sorted(buckets) == sorted(store["name"] for store in cloud.made(wish, "stores").values())
        assert stack.known() == set()


@pytest.fixture(scope="module")
def lives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Path, Future[None]]]:
    """Of the selected samples."""
    chosen = selected(request, "sample", SAMPLES)
    with two_at_a_time(chosen, lambda sample: live(sample, tmp_path_factory.mktemp(name_of(sample)))) as running:
        yield running


def kinds_of(sample: Path) -> set[str]:
    """Kinds of resources in its golden plan."""
    text = (FOLDER / f"{name_of(sample)}.txt").read_text("utf-8")
    return {line.split()[0] for line in text.splitlines() if line[:1].strip()}


def test_no_kind_of_resource_is_left_to_the_soak() -> None:
    at_once = {kind for each in SAMPLES if name_of(each) in AT_ONCE for kind in kinds_of(each)}
    assert {kind for each in SAMPLES for kind in kinds_of(each)} <= at_once


@pytest.mark.parametrize("sample", CHOSEN)
def test_a_sample_goes_up_and_down(sample: Path, lives: Mapping[Path, Future[None]]) -> None:
    lives[sample].result()
