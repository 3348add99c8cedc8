"""Google's own provider, where this machine has it."""

import pytest

from tools.googleprovider.provider import built

NOT_BUILT = (
    "GOOGLE'S OWN PROVIDER IS NOT BUILT, NO PROGRAM WAS TRIED AGAINST IT: `make provider-google` builds it, once per machine"
)


@pytest.fixture(scope="session", autouse=True)
def google() -> None:
    """Every test here needs it."""
    if not built():
        pytest.skip(NOT_BUILT)
