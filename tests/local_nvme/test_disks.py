"""The script on real loop devices: one disk becomes a file system, and no disk that anything is on is ever written to."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpufabric.local_nvme import contract
from tests.local_nvme.machine import SCRIPT, Said, loops, make_disks, run_on

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("loop_devices")]

ONE = "--device $1"
BOTH = "--device $1 --device $2"
WIPE = '--wipe "$FOLDER/by-id/*"'
# What others leave on a disk, and how the script calls it.
FOREIGN = {
    "gpt": ("echo ',100M' | sfdisk --quiet --label gpt $1", "holds PMBR gpt"),
    "dos": ("echo ',100M' | sfdisk --quiet --label dos $1", "holds dos"),
    "ext4": ("mkfs.ext4 -q $1", "holds ext4"),
    "xfs": ("mkfs.xfs -q -L data $1", "holds xfs"),
    "swap": ("mkswap --quiet $1", "holds swap"),
    "data": (
        "head -c 4096 /dev/urandom | dd of=$1 bs=4096 seek=20 2>/dev/null",
        "holds data without a signature that is known",
    ),
}


def run(folder: Path, count: int, cases: str) -> Said:
    """On empty disks."""
    with loops(make_disks(folder, count)) as devices:
        (folder / "by-id").mkdir()
        for device in devices:
            (folder / "by-id" / Path(device).name).symlink_to(device)
        return run_on(folder, devices, cases)


def test_an_empty_disk_becomes_a_file_system_once(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        1,
        f"""
        up first - {ONE}
        see mounted $(findmnt -n -o FSTYPE,OPTIONS $NODE)
        see modes $(stat -c %a $NODE $NODE/{contract.CACHE} $NODE/{contract.SCRATCH} $NODE/{contract.MARKER})
        echo kept >$NODE/scratch/file
        down
        up again - {ONE}
        unmount
        up rebooted - {ONE}
        see kept $(cat $NODE/scratch/file)
        """,
    )
    assert {name: said.ended(name) for name in ("first", "again", "rebooted")} == dict.fromkeys(
        ("first", "again", "rebooted"), "up"
    )
    assert "a file system on it, no array" in said.log("first")
    assert "is mounted already" in said.log("again")
    assert "file system on it" not in said.log("rebooted")
    assert said["kept"] == "kept"
    assert said["mounted"].startswith("xfs rw,noatime")
    assert said["modes"] == "755 700 1777 644"


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_somebody_elses_is_refused_and_no_disk_is_written_to(tmp_path: Path, kind: str) -> None:
    make, says = FOREIGN[kind]
    said = run(
        tmp_path,
        2,
        f"""
        ({make}) || see failed {kind}
        sync
        see before $(sum $1 $2)
        up refused - {BOTH}
        see after $(sum $1 $2)
        see mounted $(findmnt -n $NODE)
        """,
    )
    assert "failed" not in said.seen()
    assert said.ended("refused") == "1"
    message = said.log("refused").splitlines()[0]
    assert says in message
    assert "; to give it up: wipe: [" in message
    assert message.endswith("No disk of this node was changed")
    assert said["after"] == said["before"]
    assert said["mounted"] == ""


def test_who_allows_it_by_name_gets_the_disk_cleared(tmp_path: Path) -> None:
    """And what is made then is not cleared again, though the wish stays."""
    said = run(
        tmp_path,
        1,
        f"""
        mkfs.ext4 -q $1
        up wiped 1 {ONE} {WIPE}
        echo kept >$NODE/scratch/file
        unmount
        up rebooted 1 {ONE} {WIPE}
        see kept $(cat $NODE/scratch/file)
        """,
    )
    assert (said.ended("wiped"), said.ended("rebooted"), said["kept"]) == ("up", "up", "kept")
    assert "clearing " in said.log("wiped")
    assert "clearing " not in said.log("rebooted")


def test_a_disk_in_use_is_not_cleared_even_if_it_is_named(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        2,
        f"""
        mkfs.ext4 -q $1
        mkdir /mnt/theirs && mount $1 /mnt/theirs && echo theirs >/mnt/theirs/file && sync
        up mounted - {ONE} {WIPE}
        see file $(cat /mnt/theirs/file)
        umount /mnt/theirs
        mkswap --quiet $2
        mkdir -p $FOLDER/proc/1 && cp /proc/1/mountinfo $FOLDER/proc/1
        echo "$2 partition 409596 0 -2" >$FOLDER/proc/swaps
        export NVME_HOST_PROC=$FOLDER/proc
        see before $(sum $2)
        up swap - --device $2 {WIPE}
        see after $(sum $2)
        """,
    )
    assert (said.ended("mounted"), said.ended("swap"), said["file"]) == ("1", "1", "theirs")
    assert "holds ext4; /dev/loop" in said.log("mounted")
    assert "is mounted at /mnt/theirs" in said.log("mounted")
    assert "holds swap; swap on /dev/loop" in said.log("swap")
    assert said["before"] == said["after"]


def test_what_does_not_add_up_changes_nothing(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        2,
        f"""
        see before $(sum $1 $2)
        up more 3 {BOTH}
        up none - --model 'nvme_card[0-9]*' --device /dev/nowhere*
        see after $(sum $1 $2)
        up one 1 {ONE}
        unmount
        see one $(sum $1 $2)
        up grown 2 {BOTH}
        see grown $(sum $1 $2)
        mkdir -p $NODE && echo lost >$NODE/file
        up shadowed 1 {ONE}
        see shadowed $(cat $NODE/file)
        rm $NODE/file
        mount -t tmpfs tmpfs $NODE
        up other 1 {ONE}
        """,
    )
    ended = {name: said.ended(name) for name in ("more", "none", "one", "grown", "shadowed", "other")}
    assert ended == {**dict.fromkeys(ended, "1"), "one": "up"}
    assert "2 disks are here (/dev/loop" in said.log("more")
    assert "and disks says 3" in said.log("more")
    assert "no local NVMe disk here, by /dev/nowhere* nvme_card[0-9]*" in said.log("none")
    assert said["before"] == said["after"]
    assert "has our file system from when it was alone, which is not grown" in said.log("grown")
    assert said["one"] == said["grown"]
    assert "is not empty: something was written where the disks belong" in said.log("shadowed")
    assert said["shadowed"] == "lost"
    assert "is a mount of something else (tmpfs)" in said.log("other")


def test_it_says_when_the_disks_are_gone_and_what_an_image_lacks(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        1,
        f"""
        up there - {ONE}
        umount $NODE
        wait $script
        echo "= $?" >>$OUT/there.log
        script=''
        mkdir $FOLDER/few && for each in sh awk dd sed; do ln -s $(command -v $each) $FOLDER/few; done
        PATH=$FOLDER/few $FOLDER/few/sh $SCRIPT $NODE - {ONE} >$OUT/few.log 2>&1
        """,
    )
    assert said.ended("there") == "1"
    assert "/mnt/gpufabric/nvme is no longer mounted" in said.log("there")
    assert "the image has no mdadm; it needs mdadm, xfsprogs and util-linux" in said.log("few")


def test_a_shell_without_extensions_can_read_it() -> None:
    for shell in (["dash", "-n"], ["busybox", "sh", "-n"], ["shellcheck", "-s", "sh"]):
        if shutil.which(shell[0]):
            done = subprocess.run([*shell, str(SCRIPT)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
