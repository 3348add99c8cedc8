"""Local NVMe disks, by the model that the kernel shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmeModels(Row):
    """One row of ``data/nvme_models.toml``, whose head says what each key means."""

    name: str
    models: tuple[str, ...]


@cache
def nvme_models() -> Mapping[str, NvmeModels]:
    """All of them by cloud."""
    return named_rows(NvmeModels, "nvme_models.toml")
