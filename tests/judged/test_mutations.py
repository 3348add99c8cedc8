"""What the walk catches and what it cannot: 50 seeded mistakes in the recorded requests, and the list of them in the docs."""

import random
import re
from functools import cache

import pytest

from tests.judged.mutations import CAUGHT, NOT_CAUGHT, Material, Mutation
from tests.judged.records import CLOUDS, RECORDS, cloud_of
from tools.folders import REPOSITORY
from tools.judge.references import judge
from tools.judge.request import Record

SEEDS = range(50)
# Google's documents say nothing about the length of a text.
NO_PLACE = {"gcp": ("a text is too long", "a text is empty where it must not be")}
KINDS = [*CAUGHT, *NOT_CAUGHT]


@cache
def _material(sample: str) -> Material:
    return Material.of(Record.load(RECORDS[sample]), cloud_of(sample))


def _mutant(cloud: str, kind: str, mutation: Mutation, seed: int) -> tuple[Record, str]:
    """A mistake of a kind in the first of the shuffled samples that has a place for it."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311  # not for secrets
    known = sorted(name for name in RECORDS if cloud_of(name) is CLOUDS[cloud])
    for sample in draw.sample(known, len(known)):
        made = mutation(_material(sample), draw)
        if made is not None:
            return made[0], f"{sample}: {made[1]}"
    pytest.fail(f"no sample has a place for this mistake: {kind}")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_mistake_is_caught_or_known_not_to_be(cloud: str, seed: int) -> None:
    kinds = [kind for kind in KINDS if kind not in NO_PLACE.get(cloud, ())]
    kind = kinds[seed % len(kinds)]
    record, told = _mutant(cloud, kind, {**CAUGHT, **NOT_CAUGHT}[kind], seed)
    found = [str(each) for each in judge(record, CLOUDS[cloud].model, CLOUDS[cloud].book)]
    assert bool(found) is (kind in CAUGHT), f"{kind}; {told}; found: {found}"


def test_every_kind_has_its_turn() -> None:
    assert len(SEEDS) >= 2 * len(KINDS)


def test_the_docs_list_every_kind() -> None:
    text = (REPOSITORY / "docs" / "judged.md").read_text("utf-8")
    caught, missed = re.findall(r"\n((?:- .*\n)+)", text.partition("## What it catches")[2])[:2]
    assert _items(caught) == list(CAUGHT)
    assert _items(missed) == list(NOT_CAUGHT)


def _items(block: str) -> list[str]:
    return re.findall(r"^- (.*)$", block, re.M)
