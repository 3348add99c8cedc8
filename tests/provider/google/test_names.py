"""The bridge calls everything as pulumi-gcp does: what differs is what the released provider lacks, by name."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tools.googleprovider.provider import describe, read_beta, read_names
from tools.samples.sdk import Fields, pulumi_fields

described = cache(describe)


def differences(ours: Fields, theirs: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Properties that only pulumi-gcp has, or that are of another kind there."""
    for name, mine in ours.items():
        where = f"{path}{name}"
        if name not in theirs:
            yield where
            continue
        yours = theirs[name]
        if mine.many is not bool(yours.get("many")):
            yield f"{where}: one and many"
        if mine.inner and "inner" in yours:
            yield from differences(mine.inner(), yours["inner"], f"{where}.")


# The rest imports the slowest module of the SDK.
AT_ONCE = "gcp:container/"


@pytest.mark.parametrize(
    "token",
    [pytest.param(each, marks=[] if each.startswith(AT_ONCE) else pytest.mark.soak) for each in read_names()["resources"]],
)
def test_every_property_has_its_name(token: str) -> None:
    accepted = set(read_beta()["accepted"].get(token, {}))
    lacking = set(read_beta()["lacking"].get(token, ()))
    assert set(differences(pulumi_fields(token), described()[token])) == lacking - accepted
