"""Every path, name and port that two programs of a mount share, and what is shipped into the cluster.

On a node each mount has one folder, ``HOST_ROOT/<mount>``, which pods see read-only. In it: ``files``, where the bucket is
mounted; ``status``, what the agent last saw; ``flush``, the barrier. Pods mount the folder and not ``files`` itself, because
only what is mounted *below* a pod's mount reaches it later: after a crash the bucket comes back under running pods. The
folder is read-only, so that nothing can be written into ``files`` while no bucket is there.
"""

from typing import Final

HOST_ROOT: Final = "/run/gpufabric/mounts"
"""On the node. Below /run, so that after a reboot pods wait for the mount instead of finding an old, empty folder."""
FILES: Final = "files"
STATUS: Final = "status"
FLUSH: Final = "flush"

# In the containers of the mount.
LIB_DIR: Final = "/run/gpufabric/lib"
PACKAGE_DIR: Final = f"{LIB_DIR}/gpufabric/mounts"
CONFIG_DIR: Final = "/run/gpufabric/config"
CONFIG_FILE: Final = f"{CONFIG_DIR}/rclone.conf"
CACHE_DIR: Final = "/run/gpufabric/cache"
CREDENTIALS_DIR: Final = "/run/gpufabric/credentials"
RUN_DIR: Final = "/run/gpufabric/run"
SOCKET: Final = f"{RUN_DIR}/rc.sock"
"""rclone's remote control, for the agent beside it. Without a password only its statistics can be read."""
STORE: Final = "store"
"""Name of the remote in rclone's configuration. It is part of the cache's path: a new name would leave dirty files behind."""

AGENT_COMMAND: Final = ("python3", "-m", "gpufabric.mounts.agent")
MOUNT_COMMAND: Final = ("/bin/sh", f"{PACKAGE_DIR}/mount.sh")
FLUSH_COMMAND: Final = ("/bin/sh", f"{PACKAGE_DIR}/flush.sh")
ENV_NAME: Final = "MOUNT_NAME"
ENV_FOLDER: Final = "MOUNT_FOLDER"
"""The mount's folder, for the barrier where it does not lie in it."""
ENV_CACHE: Final = "MOUNT_CACHE"
"""The folder of rclone's cache; unset where the mount has none: then there is nothing that could be lost."""
ENV_PORT: Final = "MOUNT_METRICS_PORT"
ENV_NODE: Final = "MOUNT_NODE"
ENV_NAMESPACE: Final = "MOUNT_NAMESPACE"
"""Unset: nothing is reported to the cluster."""
METRICS_PORT: Final = 8025
FIELD_MANAGER: Final = "gpufabric-mount"
SAMPLE_SECONDS: Final = 0.5
SILENT_SECONDS: Final = 15
"""After so long without a beat of the agent's heart, the barrier says that nobody knows."""

LABEL_MOUNT: Final = "gpufabric.dev/mount"
"""On the ConfigMaps that say, for one node each, what is not in the bucket yet."""
ANNOTATION_CACHE: Final = "gpufabric.dev/cache"
"""Of the DaemonSet: a hash of what the cache's path depends on. It cannot change while files are dirty."""
REPORT_FILES: Final = "dirty_files"
REPORT_BYTES: Final = "dirty_bytes"
REPORT_NODE: Final = "node"

SHIPPED_TOO: Final = ("validation/api.py", "validation/files.py", "validation/prometheus.py")
"""What is shipped of another room, beside all of this one."""


def report_name(mount: str, node: str) -> str:
    """Name of a node's report; node names are DNS subdomains."""
    return f"mount-{mount}-{node}"[:253].rstrip(".-")


def folder(root: str, mount: str) -> str:
    """The folder of one mount below a root."""
    return f"{root}/{mount}"
