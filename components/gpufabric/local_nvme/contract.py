"""Every path and name that the programs on a node share with the plans, and what is shipped into the cluster.

The file system is mounted at one folder of the node. What pods use lies in folders of it that exist nowhere else: a volume that
asks for such a folder (``hostPath``, type ``Directory``) waits until the file system is there, and nothing is ever written
beside it, to the node's root disk.
"""

from typing import Final

NODE_PATH: Final = "/mnt/gpufabric/nvme"
"""Where the file system is mounted, on the node, unless a wish says otherwise."""
CACHE: Final = "cache"
"""Folder of the file system for caches of buckets; root's alone."""
SCRATCH: Final = "scratch"
"""Folder of the file system for pods; anybody may write."""
MARKER: Final = ".gpufabric-local-nvme"
"""File of the file system that says that it is ours."""

# In the containers.
LIB_DIR: Final = "/run/gpufabric/lib"
PACKAGE_DIR: Final = f"{LIB_DIR}/gpufabric/local_nvme"
HOST_PROC: Final = "/run/gpufabric/proc"
"""The node's /proc: which of its disks are mounted or hold swap."""
ENV_PROC: Final = "NVME_HOST_PROC"
DISKS_COMMAND: Final = ("/bin/sh", f"{PACKAGE_DIR}/disks.sh")
AGENT_COMMAND: Final = ("python3", "-m", "gpufabric.local_nvme.agent")
ENV_PATH: Final = "NVME_PATH"
ENV_NODE: Final = "NVME_NODE"

LABEL_GIB: Final = "gpufabric.dev/local-nvme-gib"
"""Node label: size of the file system, whole GiB. Only there while it is mounted."""
FIELD_MANAGER: Final = "gpufabric-local-nvme"

SHIPPED_TOO: Final = ("validation/api.py",)
"""What is shipped of another room, beside all of this one."""
