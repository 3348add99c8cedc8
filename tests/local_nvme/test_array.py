"""The script on a kernel with md: several disks become one array, which comes back and is never made again."""

from pathlib import Path

import pytest

from tests.local_nvme.machine import Said, boot, make_disks

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("usermode")]

MODEL = '--model "$MODEL"'
MADE = f"""
up made 3 {MODEL}
see array $(sed -n 's/ *$//; s/^md[0-9]* : //p' /proc/mdstat)
see mounted $(findmnt -n -o FSTYPE $NODE)
dd if=/dev/urandom of=$NODE/scratch/file bs=1M count=32 2>/dev/null
see written $(sha256sum <$NODE/scratch/file)
"""
AGAIN = f"""
up again 3 {MODEL}
see read $(sha256sum <$NODE/scratch/file)
stop
hide nvme3n1
see before $(sum /dev/nvme[1-3]n1)
up missing - {MODEL}
see after $(sum /dev/nvme[1-3]n1)
show nvme3n1
"""
# A fourth disk came meanwhile; then nothing is on two of them but another array; then ours, killed before it was formatted.
MORE = f"""
see before $(sum /dev/nvme[1-4]n1)
show nvme4n1
up grown - {MODEL}
see after $(sum /dev/nvme[1-4]n1)
hide nvme3n1
hide nvme4n1
stop blank
mdadm --create /dev/md/theirs --run --level=0 --raid-devices=2 --homehost=them --name=theirs /dev/nvme[12]n1 2>/dev/null
see theirs $(sum /dev/nvme[12]n1)
up theirs - {MODEL} --wipe '/dev/disk/by-id/nvme-Amazon*'
see left $(sum /dev/nvme[12]n1)
stop blank
ln -sf /dev/md99 /dev/md/gpufabric
up stale 2 {MODEL}
stop blank
rm -f /dev/md/gpufabric
mdadm --create /dev/md/gpufabric --run --level=0 --raid-devices=2 --homehost=any --name=gpufabric /dev/nvme[12]n1 2>/dev/null
dd if=/dev/zero of=/dev/md/gpufabric bs=1M count=2 conv=fsync 2>/dev/null
up killed 2 {MODEL}
see killed $(findmnt -n -o FSTYPE $NODE)
"""


def machine(folder: Path, name: str, disks: list[Path], cases: str) -> Said:
    """One boot, with a folder of its own."""
    own = folder / name
    own.mkdir()
    return boot(own, disks, cases)


def assert_made(said: Said) -> None:
    assert said.ended("made") == "up", said.log("made")
    assert "an array (RAID0) of 3 disks: /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1" in said.log("made")
    assert said["array"].startswith("active raid0 ")
    assert said["mounted"] == "xfs"


def assert_kept(said: Said, written: str) -> None:
    """It was put together again, never made again; and not at all without one of its disks."""
    assert said.ended("again") == "up", said.log("again")
    assert "an array" not in said.log("again")
    assert said["read"] == written
    assert said.ended("missing") == "1"
    assert "a disk is missing: the array has 3, and of /dev/nvme1n1 /dev/nvme2n1 only 2 belong to it" in said.log("missing")
    assert "wipefs --all /dev/nvme1n1 /dev/nvme2n1" in said.log("missing")
    assert said["before"] == said["after"]


def test_all_disks_become_one_array_and_stay_it(tmp_path: Path) -> None:
    said = machine(tmp_path, "boot", make_disks(tmp_path, 3), f"{MADE}\nstop\n{AGAIN}")
    assert_made(said)
    assert_kept(said, said["written"])


@pytest.mark.soak
def test_a_reboot_and_what_is_not_ours(tmp_path: Path) -> None:
    """A boot costs seconds, and each process of that kernel some hundredths: hence one test."""
    disks = make_disks(tmp_path, 4)
    first = machine(tmp_path, "first", disks[:3], MADE)
    assert_made(first)
    second = machine(tmp_path, "second", disks, f"hide nvme4n1\n{AGAIN}")
    assert_kept(second, first["written"])
    third = machine(tmp_path, "third", disks, f"hide nvme4n1\n{MORE}")
    assert third.ended("grown") == "1"
    assert "not part of the array: /dev/nvme4n1. An array is not grown" in third.log("grown")
    assert third["before"] == third["after"]
    assert third.ended("theirs") == "1"
    message = third.log("theirs").splitlines()[0]
    assert "/dev/nvme1n1 (Amazon EC2 NVMe Instance Storage) holds linux_raid_member; to give it up: wipe: [" in message
    assert "[/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS1]" in message
    assert third["theirs"] == third["left"], "an array that runs is not cleared, though a wish names its disks"
    assert third.ended("stale") == "up", third.log("stale")
    assert third.ended("killed") == "up", third.log("killed")
    assert "the array was made and never formatted" in third.log("killed")
    assert third["killed"] == "xfs"
