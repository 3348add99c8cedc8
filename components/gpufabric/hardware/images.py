"""Images with nccl-tests: where the benchmark lies in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows

ON_PATH = "all_reduce_perf"


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTestsImage(Row):
    """One row of ``data/images.toml``: ``name`` is the repository, ``all_reduce`` the absolute path of the program."""

    name: str
    all_reduce: str


@cache
def nccl_tests_images() -> Mapping[str, NcclTestsImage]:
    """All known images by repository."""
    return named_rows(NcclTestsImage, "images.toml")


def all_reduce_program(image: str) -> str:
    """The all-reduce benchmark of ``image``: its known path, or the bare name to be found on the image's PATH."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    row = nccl_tests_images().get(f"{head}{slash}{last.partition(':')[0]}")
    return row.all_reduce if row else ON_PATH
