"""Images that every node has from its first moment: imported once into a store in the cache, then shared by all nodes.

An import unpacks a quarter of a GiB per node; three at once took most of a start, and deleting them most of `down`. A node's
containerd gets a copy of the store's two small databases, hard links to the blobs and symbolic links to the unpacked layers,
which are only ever the lower, read-only side of an overlay.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.errors import ToolError
from tools.folders import cache_folder, locked
from tools.localcluster.commands import run

BLOBS = "io.containerd.content.v1.content"
SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs"
DATABASES = ("io.containerd.metadata.v1.bolt/meta.db", f"{SNAPSHOTS}/metadata.db")

CONFIG = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{folder}/socket"
"""

# In namespaces of its own: killed at any point, it leaves neither a process nor a mount.
IMPORT = """
set -e
folder=$1; shift
containerd --config "$folder/config.toml" > "$folder/log" 2>&1 &
tries=0
until ctr --address "$folder/socket" version > /dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 100 ]; then tail -5 "$folder/log" >&2; exit 1; fi
  sleep 0.1
done
for archive in "$@"; do ctr --address "$folder/socket" --namespace k8s.io images import "$archive" >&2; done
kill $!
wait $! || true
"""


def store_of(archives: Sequence[Path]) -> Path:
    """Where the store of these archives lies. Their names carry their content; the folder appears by a rename."""
    key = hashlib.sha256("\0".join(archive.name for archive in archives).encode()).hexdigest()[:12]
    return cache_folder() / "images" / f"store-{key}"


def ensure_store(archives: Sequence[Path]) -> None:
    """Import the archives unless that was done before."""
    store = store_of(archives)
    if store.exists():
        return
    with locked(cache_folder() / "images"):
        if store.exists():
            return
        for left in store.parent.glob(".store-*"):
            shutil.rmtree(left)  # of a killed run: the lock says that nobody is writing it
        print("images: unpacking them once for all nodes", flush=True)
        # Short, because a socket's path is limited to 107 characters.
        with tempfile.TemporaryDirectory(prefix=".store-", dir=store.parent) as name:
            folder = Path(name)
            (folder / "config.toml").write_text(CONFIG.format(folder=folder))
            names = [str(archive) for archive in archives]
            try:
                run(
                    *("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"),
                    *("bash", "-c", IMPORT, "import", name, *names),
                )
            except ToolError as error:
                raise ToolError(f"containerd could not unpack the images; {error}") from error
            (folder / "root").rename(store)


def is_seeded(target: Path, store: Path) -> bool:
    """Does a node's containerd folder hold this store, and is the store still there?"""
    note = target / "seeded-from"
    return note.exists() and note.read_text() == str(store) and store.exists()


def seed(target: Path, store: Path) -> None:
    """Make a node's containerd folder anew from the store; its containerd must not run."""
    shutil.rmtree(target, ignore_errors=True)
    for database in DATABASES:
        (target / database).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store / database, target / database)
    shutil.copytree(store / BLOBS, target / BLOBS, copy_function=_link)
    (target / SNAPSHOTS / "snapshots").mkdir()
    for layer in (store / SNAPSHOTS / "snapshots").iterdir():
        (target / SNAPSHOTS / "snapshots" / layer.name).symlink_to(layer)
    (target / "seeded-from").write_text(str(store))


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # the cache is on another file system
        shutil.copy2(source, target)
    return target
