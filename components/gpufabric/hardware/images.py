"""Images with nccl-tests: what is known to be in them, and what is known to be missing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows

ON_PATH = "{}_perf"


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTestsImage(Row):
    """One row of ``data/images.toml``, whose head says what each key means; ``name`` is the repository, None is not known."""

    name: str
    program: str
    pinned: str = ""
    mpirun: str | None = None
    sshd: bool | None = None
    python_3_11: bool | None = None


@cache
def nccl_tests_images() -> Mapping[str, NcclTestsImage]:
    """All known images by repository."""
    return named_rows(NcclTestsImage, "images.toml")


def find_image(image: str) -> NcclTestsImage | None:
    """What is known of ``image``, whatever its tag and digest; None for one that is in no table, a mirror's copy too."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    return nccl_tests_images().get(f"{head}{slash}{last.partition(':')[0]}")


def nccl_tests_program(image: str, collective: str) -> str:
    """The benchmark of ``image`` for a collective: its known path, or the bare name to be found on the image's PATH."""
    row = find_image(image)
    return (row.program if row else ON_PATH).format(collective)
