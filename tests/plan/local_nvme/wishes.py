"""A wish for local NVMe that is granted as it stands."""

from typing import Any

NVME: dict[str, Any] = {
    "name": "train",
    "node_selector": {"pool": "train"},
    "image": "ghcr.io/acme/gate:1.2",
    "disk_image": "ghcr.io/acme/disks:1",
}
