"""AWS's own provider, where this machine has it. The bridges it starts end with the session."""

from collections.abc import Iterator

import pytest

from tools.awsprovider.bridge import built
from tools.awsprovider.session import Session, running

NOT_BUILT = "AWS'S OWN PROVIDER IS NOT BUILT, NO PROGRAM WAS TRIED AGAINST IT: `make provider-aws` builds it, once per machine"


@pytest.fixture(scope="session")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One AWS for all tests; each begins with an empty account."""
    if not built():
        pytest.skip(NOT_BUILT)
    with running(tmp_path_factory.mktemp("aws") / "bridge.log") as session:
        yield session
