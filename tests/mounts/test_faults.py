"""What goes wrong between a save and the bucket: nothing that a program has closed is lost, and what happened is said."""

import errno
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpufabric.mounts import contract
from tests.mounts.node import BUCKET, MIB, Node, await_, cached_plan, checksum, write

SEEDS = [pytest.param(seed, marks=[] if seed < 2 else pytest.mark.soak) for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_while_it_uploads(node: Node, seed: int) -> None:
    """kill -9 of the mount at any moment: new files, one that replaces a larger one in the bucket, one that is still open."""
    chance = random.Random(seed)  # noqa: S311  # a seed, no secret
    write(node.files / "replaced.pt", 24 * MIB, seed=1)
    assert node.flush().returncode == 0
    node.limit(20)
    wanted = {f"shard-{number}.pt": write(node.files / f"shard-{number}.pt", 8 * MIB, seed=number) for number in range(3)}
    wanted["replaced.pt"] = write(node.files / "replaced.pt", 16 * MIB, seed=2)
    open_one = (node.files / "open.pt").open("wb", buffering=0)
    open_one.write(b"written, not closed")
    time.sleep(chance.uniform(0, 2.5))
    node.stop("mount", signal.SIGKILL)
    with pytest.raises(OSError, match="Transport endpoint is not connected"):
        list(node.files.iterdir())
    with pytest.raises(OSError, match="Transport endpoint is not connected"):
        open_one.write(b"more")
    with pytest.raises(OSError, match="Transport endpoint is not connected"):
        open_one.close()
    node.limit(0)
    node.mount()
    assert {name: checksum(node.files / name) for name in wanted} == wanted, "the cache has them at once"
    assert node.flush().returncode == 0
    found = node.in_bucket()
    assert {name: found.get(name) for name in wanted} == wanted
    assert (node.bucket / "open.pt").read_bytes() == b"written, not closed"
    assert "taking away the mount of a process that is gone" in node.log()


def test_the_server_is_down_for_a_while(node: Node) -> None:
    first = write(node.files / "before.pt", 4 * MIB, seed=1)
    assert node.flush().returncode == 0
    node.stop("server", signal.SIGKILL)
    second = write(node.files / "while-it-is-down.pt", 4 * MIB, seed=2)
    told = node.flush(timeout_s=5)
    assert told.returncode == 2, told.stdout
    assert "not all is in the bucket: 1 files, 4 MiB" in told.stderr
    assert checksum(node.files / "while-it-is-down.pt") == second, "what was saved can be read back meanwhile"
    node.serve()
    assert node.flush(timeout_s=90).returncode == 0
    assert node.in_bucket() == {"before.pt": first, "while-it-is-down.pt": second}


@pytest.mark.soak
def test_the_server_is_down_for_minutes(node: Node) -> None:
    """rclone rests ever longer between attempts; the barrier waits with it and says why."""
    assert list(node.files.iterdir()) == []  # who creates a file in a folder that was not listed lately asks the server
    node.stop("server", signal.SIGKILL)
    wanted = write(node.files / "model.pt", 4 * MIB)
    time.sleep(150)
    told = node.flush(timeout_s=1)
    assert (told.returncode, "upload of model.pt fails" in told.stderr) == (2, True), told.stderr
    node.serve()
    assert node.flush(timeout_s=400).returncode == 0
    assert node.in_bucket() == {"model.pt": wanted}


def test_killed_while_the_server_is_down(node: Node) -> None:
    """The start after it forgets nothing."""
    assert list(node.files.iterdir()) == []  # a listing that is young; see the next test
    node.stop("server", signal.SIGKILL)
    wanted = write(node.files / "model.pt", 4 * MIB)
    node.stop("mount", signal.SIGKILL)
    node.mount(wait=False)
    assert node.flush(timeout_s=4).returncode != 0
    node.serve()
    await_(node.mounted, "the mount to come back", timeout_s=90, log=node.disk / "mount.log")
    assert node.flush(timeout_s=90).returncode == 0
    assert node.in_bucket() == {"model.pt": wanted}


@pytest.mark.soak
def test_a_folder_that_was_not_listed_lately_waits_for_the_server(start: Callable[..., Node]) -> None:
    """To create a file rclone asks who is there, unless it knows from within dir_cache_s. Minutes, then an error."""
    node = start(cached_plan(dir_cache_s=0))
    node.stop("server", signal.SIGKILL)
    with pytest.raises(OSError, match="Input/output error"):
        write(node.files / "model.pt", MIB)
    node.serve()
    await_(lambda: node.status()["dirty_files"] == "0", "nothing to be left")
    assert node.in_bucket() == {}


def test_a_power_cut(node: Node) -> None:
    """All of the node ends at once; it boots with its disk. What the barrier confirmed, and what was closed, is there."""
    node.limit(10)
    confirmed = write(node.files / "confirmed.pt", 4 * MIB, seed=1)
    assert node.flush().returncode == 0
    closed = write(node.files / "closed.pt", 12 * MIB, seed=2)
    node.power_off()
    assert node.in_bucket() == {"confirmed.pt": confirmed}
    node.boot()
    assert not node.folder.exists(), "a pod that comes first waits for the folder, instead of finding it empty"
    node.serve()
    node.mount()
    assert node.flush().returncode == 0
    assert node.in_bucket() == {"confirmed.pt": confirmed, "closed.pt": closed}


def test_a_full_disk_refuses_the_write_and_keeps_what_was_closed(start: Callable[..., Node]) -> None:
    node = start()
    node.power_off()
    small = node.disk / "cache"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(small)], check=True)
    try:
        node.boot()
        node.serve()
        node.limit(4)
        node.mount()
        kept = write(node.files / "kept.pt", 24 * MIB, seed=1)
        with pytest.raises(OSError) as refused:  # noqa: PT011  # which one is asserted below
            write(node.files / "too-much.pt", 64 * MIB, seed=2)
        assert refused.value.errno in (errno.ENOSPC, errno.EIO)
        (node.files / "too-much.pt").unlink()
        node.limit(0)
        assert node.flush().returncode == 0
        assert node.in_bucket() == {"kept.pt": kept}
        again: list[str] = []
        await_(lambda: _written(node.files / "again.pt", again), "room to be made", timeout_s=60)
        assert node.flush().returncode == 0
        assert node.in_bucket() == {"kept.pt": kept, "again.pt": again[0]}, "uploaded files make room"
    finally:
        node.power_off()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_two_writers_of_one_file(node: Node) -> None:
    """Of one node: the file is whole, and what both wrote last. Nobody gets half of each."""
    pieces = {name: bytes([number]) * MIB for number, name in enumerate("ab")}
    with (node.files / "shared.pt").open("wb") as first, (node.files / "shared.pt").open("wb") as second:
        for _ in range(4):
            first.write(pieces["a"])
            second.write(pieces["b"])
    assert node.flush().returncode == 0
    written = (node.bucket / "shared.pt").read_bytes()
    assert written == (node.files / "shared.pt").read_bytes()
    assert len(written) == 4 * MIB
    assert all(written[at : at + MIB] in pieces.values() for at in range(0, 4 * MIB, MIB))


def test_two_nodes_write_one_name(start: Callable[..., Node]) -> None:
    """The later upload wins whole. Who wrote the name itself sees another node's version once it lists the folder."""
    one = start(cached_plan(dir_cache_s=1))
    wanted = write(one.files / "model.pt", MIB, seed=1)
    assert one.flush().returncode == 0
    (one.bucket / "model.pt").unlink()
    other = write(one.bucket / "model.pt", 2 * MIB, seed=2)  # another node's upload
    await_(lambda: list(one.files.iterdir()) and checksum(one.files / "model.pt") == other, "the listing to grow old")
    again = write(one.files / "model.pt", MIB, seed=3)
    assert one.flush().returncode == 0
    assert one.in_bucket() == {"model.pt": again}
    assert len({wanted, other, again}) == 3


def test_another_nodes_file_and_its_next_version_are_seen_by_name(start: Callable[..., Node]) -> None:
    one = start(cached_plan(dir_cache_s=1))
    for version in (1, 2):
        (one.bucket / "latest").unlink(missing_ok=True)
        (one.bucket / "latest").write_text(f"step {version * 1000**version}")
        found = one.files / "latest"
        await_(lambda f=found, v=version: f.exists() and f.read_text() == f"step {v * 1000**v}", "it to show")  # type: ignore[misc]


def test_a_rename_over_an_existing_file(node: Node) -> None:
    """As torch.distributed.checkpoint does it (.metadata.tmp to .metadata), before the upload and in the middle of it."""
    write(node.files / ".metadata", 4 * MIB, seed=0)
    assert node.flush().returncode == 0
    wanted = write(node.files / ".metadata.tmp", 2 * MIB, seed=1)
    (node.files / ".metadata.tmp").rename(node.files / ".metadata")
    assert node.flush().returncode == 0
    assert node.in_bucket() == {".metadata": wanted}
    node.limit(5)
    wanted = write(node.files / ".metadata.tmp", 12 * MIB, seed=2)
    await_(lambda: int(node.status()["dirty_files"]) > 0, "the file to be seen")
    time.sleep(1.5)  # the upload has begun
    (node.files / ".metadata.tmp").rename(node.files / ".metadata")
    node.limit(0)
    assert node.flush().returncode == 0
    assert node.in_bucket() == {".metadata": wanted}
    folder = node.files / "step-10.tmp"
    folder.mkdir()
    inside = write(folder / "shard.pt", MIB, seed=3)
    folder.rename(node.files / "step-10")
    assert node.flush().returncode == 0
    assert node.in_bucket() == {".metadata": wanted, "step-10/shard.pt": inside}


def test_many_small_files(node: Node) -> None:
    count = 200
    (node.files / "parts").mkdir()
    wanted = {f"parts/{n}": write(node.files / "parts" / f"{n}", 512 + n, seed=n) for n in range(count)}
    (node.files / "done").write_text("all parts are closed")
    assert node.flush().returncode == 0
    found = node.in_bucket()
    assert {name: found.get(name) for name in wanted} == wanted
    assert len(found) == count + 1


def test_options_of_the_environment_do_not_move_the_cache(start: Callable[..., Node]) -> None:
    """They would put a hash into its path: what an earlier start left in the old path would never be uploaded."""
    node = start()
    node.limit(2)
    wanted = write(node.files / "model.pt", 8 * MIB)
    node.stop("mount", signal.SIGKILL)
    node.limit(0)
    (container,) = [each for each in node.plan.daemon_set_spec["template"]["spec"]["containers"] if each["name"] == "mount"]
    container["env"].append({"name": "RCLONE_S3_CHUNK_SIZE", "value": "5Mi"})
    node.mount()
    assert node.flush().returncode == 0
    assert node.in_bucket() == {"model.pt": wanted}
    assert [each.name for each in (node.cache / "vfs").iterdir()] == [contract.STORE]
    assert "RCLONE_S3_CHUNK_SIZE of the environment is ignored" in node.log()


def test_a_folder_that_is_not_empty_is_neither_hidden_nor_emptied(node: Node) -> None:
    """SkyPilot's script deletes what it finds there."""
    node.stop("mount", signal.SIGTERM)
    await_(lambda: not node.is_mount_point(), "the mount to end")
    node.files.chmod(0o755)
    (node.files / "somebodys.txt").write_text("precious")
    node.mount(wait=False)
    assert node.running["mount"].wait(timeout=10) == 1
    assert "is not empty: something was written where the bucket belongs. Nothing is deleted" in node.log()
    assert (node.files / "somebodys.txt").read_text() == "precious"


def test_a_lost_record_is_kept_and_told(node: Node) -> None:
    """rclone drops a file whose record is empty, as a kill in the wrong microsecond or a real power cut leaves it."""
    write(node.files / "safe.pt", MIB, seed=1)
    assert node.flush().returncode == 0
    node.limit(1)
    wanted = write(node.files / "model.pt", 8 * MIB, seed=2)
    node.stop("mount", signal.SIGKILL)
    (node.cache / "vfsMeta" / contract.STORE / BUCKET / "model.pt").write_bytes(b"")
    node.limit(0)
    node.mount()
    (kept,) = (node.cache / "unrecorded" / contract.STORE / BUCKET).iterdir()
    assert checksum(kept) == wanted
    assert f"the file is kept as {contract.CACHE_DIR}/unrecorded/{contract.STORE}/{BUCKET}/model.pt" in node.log()
    shutil.copyfile(kept, node.files / "model.pt")  # what the message asks for, after a look
    assert node.flush().returncode == 0
    assert node.in_bucket()["model.pt"] == wanted


def test_two_processes_never_share_a_cache(node: Node) -> None:
    (container,) = [each for each in node.plan.daemon_set_spec["template"]["spec"]["containers"] if each["name"] == "mount"]
    node.start("second", *container["command"], PATH="/usr/sbin:/usr/bin:/sbin:/bin")
    log = node.disk / "second.log"
    await_(lambda: log.exists() and "another process uses the cache" in log.read_text("utf-8"), "the second one to say so")
    assert node.running["second"].poll() is None
    assert node.mounted()


def test_transfers_1_keeps_the_order_of_files(start: Callable[..., Node]) -> None:
    """A marker that must not be in the bucket before its shards; with more transfers it may be (SkyPilot since #8455)."""
    node = start(cached_plan(transfers=1))
    node.limit(20)
    for number in range(3):
        write(node.files / f"shard-{number}.pt", 6 * MIB, seed=number)
    (node.files / "latest").write_text("step-10")
    seen: list[set[str]] = []
    while "latest" not in (seen[-1] if seen else set()):
        seen.append(set(node.in_bucket()))
    assert seen[-1] == {"shard-0.pt", "shard-1.pt", "shard-2.pt", "latest"}
    assert Path(node.bucket / "latest").read_text() == "step-10"


def _written(path: Path, checksums: list[str]) -> bool:
    """Whether there was room for it."""
    try:
        checksums.append(write(path, 24 * MIB, seed=3))
    except OSError:
        path.unlink()
        return False
    return True
