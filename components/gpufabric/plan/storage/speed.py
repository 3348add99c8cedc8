"""How fast a role is on the nodes of a group, and what it costs per month; what is not known is said."""

from dataclasses import replace

from gpufabric.hardware.storage import find_storage_price
from gpufabric.plan.storage.model import BUCKET, CLAIM, FILESYSTEM, Choice, Nodes, OnGroup, Shelf

_SAID = {BUCKET: "bucket", "lustre": "Lustre file system", "filestore": "Filestore instance", CLAIM: "file system"}
_PUBLISHED = "published, of one node"


def on_group(choice: Choice, nodes: Nodes, has: Shelf) -> OnGroup:
    """Rates of the role on one node of the group, without its mount."""
    base = OnGroup(
        group=nodes.group, gpus=nodes.gpus, read_gbytes_per_s=None, write_gbytes_per_s=None, source="not measured here"
    )
    if choice.kind == BUCKET:
        row = choice.backend
        reads, writes = row.read_gbytes_per_s, row.write_gbytes_per_s
        source = f"{_PUBLISHED}, by another driver" if choice.by_csi else _PUBLISHED
        return replace(base, read_gbytes_per_s=reads, write_gbytes_per_s=writes, source=source)
    if choice.kind != FILESYSTEM:
        return replace(base, folder=nodes.scratch_path)
    shared = has.filesystems[choice.key]
    sharers = sum(each.nodes for each in has.groups)

    def share(total: float | None) -> float | None:
        """All nodes at once: an equal part, and no more than the node's network carries."""
        return None if total is None else min(total / sharers, nodes.network_gbytes_per_s)

    reads, writes = share(shared.read_gbytes_per_s), share(shared.write_gbytes_per_s)
    source = f"all {sharers} nodes at once; {shared.source}" if shared.source else "it exists"
    return replace(base, read_gbytes_per_s=reads, write_gbytes_per_s=writes, source=source)


def monthly_cost(choice: Choice, size_gib: int | None, has: Shelf) -> tuple[float | None, str]:
    """US dollars per month and where they come from; or None and what is missing."""
    if choice.kind not in (BUCKET, FILESYSTEM):
        return 0.0, "comes with the machines"
    product = BUCKET if choice.kind == BUCKET else has.filesystems[choice.key].product
    size = size_gib if choice.kind == BUCKET else has.filesystems[choice.key].size_gib
    price = find_storage_price(has.cloud, product, has.region)
    if price is None:
        where = f"in {has.region}" if has.region else "on a cluster of one's own"
        return None, f"no price of a {_SAID[product]} is known {where}"
    if size is None:
        return None, "size_gib is not given"
    return round(size * price.usd_per_gib_month, 2), f"{price.provenance.source}, {price.provenance.as_of}"
