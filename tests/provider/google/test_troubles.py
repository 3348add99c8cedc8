"""What goes wrong at Google: a clear error, and the next ``up`` comes to the same end as if nothing had happened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.provider.google.programs import CONFIG, PROJECT, WHOLE, ZONE, write
from tools.googleapi.troubles import BUSY, QUOTA, STOCK_OUT, Trouble
from tools.googleprovider.sample import GoogleLife, life

pytestmark = [pytest.mark.engine, pytest.mark.soak]
POOL = f"projects/{PROJECT}/locations/{ZONE}/clusters/train/nodePools/gpu"


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[GoogleLife]:
    with life("whole", write(tmp_path, WHOLE), CONFIG, tmp_path) as made:
        yield made


def converge(made: GoogleLife) -> None:
    """Up, up again without a change, down to nothing."""
    made.stack.succeed("up")
    assert POOL in made.held
    made.stack.succeed("up", "--expect-no-changes")
    made.stack.succeed("destroy")
    assert made.held == []


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (QUOTA, "Quota 'NETWORKS' exceeded"),
        (STOCK_OUT, "ZONE_RESOURCE_POOL_EXHAUSTED"),
        (Trouble(**{**vars(STOCK_OUT), "leaves": "ERROR"}), "error state"),
    ],
    ids=["quota", "stock-out", "stock-out that leaves a pool"],
)
def test_the_next_up_makes_the_rest(trouble: Trouble, says: str, whole: GoogleLife) -> None:
    whole.apis.account.trouble(trouble)
    failed = whole.stack.run("up")
    assert failed.returncode != 0
    assert says in failed.stdout, failed.stdout
    converge(whole)


def test_a_busy_server_is_asked_again(whole: GoogleLife) -> None:
    whole.apis.account.trouble(Trouble(**{**vars(BUSY), "times": 3}))
    converge(whole)
    assert sum(each.status == 503 for each in whole.apis.exchanges) == 3


def test_a_second_thing_of_the_same_name_is_refused(whole: GoogleLife) -> None:
    whole.apis.account.hold(f"projects/{PROJECT}/global/networks/vpc")
    failed = whole.stack.run("up")
    assert failed.returncode != 0
    assert "already exists" in failed.stdout
