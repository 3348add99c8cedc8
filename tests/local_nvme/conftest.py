"""What this machine can do for tests of disks."""

import os
import platform
import shutil
from pathlib import Path

import pytest

from tools.toolchain.debian import usermode_folder


@pytest.fixture(scope="session")
def programs() -> None:
    """mdadm, xfsprogs and a kernel with md, unpacked; else the test says what is missing and is skipped."""
    if not usermode_folder().exists():
        pytest.skip(
            "local NVMe was not tested: no mdadm, xfsprogs and User-Mode Linux; python3 -m tools.toolchain ensure usermode"
        )


@pytest.fixture(scope="session")
def usermode(programs: None) -> None:
    """A kernel with md."""
    if platform.machine() != "x86_64":
        pytest.skip("arrays were not tested: Debian has User-Mode Linux for x86_64 alone")
    if os.geteuid() != 0:
        pytest.skip("arrays were not tested: who is root in that kernel reads this machine's files as whoever started it")


@pytest.fixture(scope="session")
def loop_devices(programs: None) -> None:
    """Loop devices, and a kernel that mounts xfs."""
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        pytest.skip("disks were not tested: loop devices need root and /dev/loop-control")
    if not {"losetup", "wipefs", "unshare"} <= {each for each in ("losetup", "wipefs", "unshare") if shutil.which(each)}:
        pytest.skip("disks were not tested: no losetup, wipefs and unshare (util-linux)")
