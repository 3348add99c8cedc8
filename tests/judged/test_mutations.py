"""What the walk catches and what it cannot: 50 seeded mistakes in the recorded requests, and the list of them in the docs."""

import random
import re
from functools import cache

import pytest

from tests.judged.mutations import CAUGHT, NOT_CAUGHT, Material, Mutation
from tests.judged.records import RECORDS
from tools.folders import REPOSITORY
from tools.judge.aws.model import AwsModel
from tools.judge.aws.references import AwsBook
from tools.judge.references import judge
from tools.judge.request import Record

SEEDS = range(50)
AWS = sorted(name for name in RECORDS if name.startswith("aws-"))
KINDS = [*CAUGHT, *NOT_CAUGHT]


@cache
def _material(sample: str) -> Material:
    return Material.of(Record.load(RECORDS[sample]))


def _mutant(kind: str, mutation: Mutation, seed: int) -> tuple[Record, str]:
    """A mistake of a kind in the first of the shuffled samples that has a place for it."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311  # not for secrets
    for sample in draw.sample(AWS, len(AWS)):
        made = mutation(_material(sample), draw)
        if made is not None:
            return made[0], f"{sample}: {made[1]}"
    pytest.fail(f"no sample has a place for this mistake: {kind}")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mistake_is_caught_or_known_not_to_be(seed: int) -> None:
    kind = KINDS[seed % len(KINDS)]
    record, told = _mutant(kind, {**CAUGHT, **NOT_CAUGHT}[kind], seed)
    found = [str(each) for each in judge(record, AwsModel(), AwsBook())]
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
