"""Ways to keep files: what each can do, how fast it was found to be, where local disks are mounted, and what a GiB costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, listed_rows, named_rows

SHARED_FILESYSTEM, LOCAL_NVME = "shared-filesystem", "local-nvme"
BUCKET_MOUNT, BUCKET_CACHED = "bucket-mount", "bucket-cached"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageBackend(Row):
    """One row of ``data/storage.toml``, whose head says what each key means."""

    name: str
    durable: bool
    shared: bool
    renames: bool
    appends: bool
    read_gbytes_per_s: float | None = None
    write_gbytes_per_s: float | None = None
    batches_s: float | None = None
    load_s: float | None = None
    save_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDisks(Row):
    """One row of ``data/node_disks.toml``, whose head says what each key means."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePrice(Row):
    """A row ``[[storage]]`` of ``data/prices_storage.toml``: US dollars per GiB and month."""

    cloud: str
    product: str
    region: str
    usd_per_gib_month: float


@cache
def storage_backends() -> Mapping[str, StorageBackend]:
    """All ways by name."""
    return named_rows(StorageBackend, "storage.toml")


@cache
def node_disks() -> Mapping[str, NodeDisks]:
    """Where local disks are mounted, by cloud."""
    return named_rows(NodeDisks, "node_disks.toml")


@cache
def storage_prices() -> tuple[StoragePrice, ...]:
    """All prices, in the order of the table."""
    return tuple(listed_rows(StoragePrice, "prices_storage.toml", "storage"))


def find_storage_price(cloud: str, product: str, region: str) -> StoragePrice | None:
    """The price of a product in a region, or None: then the cost is said to be unknown, and nothing is guessed."""
    wanted = (cloud, product, region)
    return next((row for row in storage_prices() if (row.cloud, row.product, row.region) == wanted), None)
