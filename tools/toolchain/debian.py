"""What comes from the distribution: checked by a file each package brings, and installed or unpacked where possible."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.errors import ToolError
from tools.folders import cache_folder, locked

# Users without root often lack these on PATH, where the administrator's programs lie.
SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])


@dataclass(frozen=True)
class Requirement:
    """A Debian package and a program (or an absolute path) that shows it is there."""

    package: str
    shown_by: str

    def met(self) -> bool:
        """Is it installed, by whatever means?"""
        if self.shown_by.startswith("/"):
            return Path(self.shown_by).exists()
        return shutil.which(self.shown_by, path=SEARCH) is not None


CLUSTER = (
    Requirement("containerd", "containerd"),
    Requirement("runc", "runc"),
    Requirement("containernetworking-plugins", "/usr/lib/cni/bridge"),
    Requirement("nftables", "nft"),
    Requirement("iproute2", "tc"),
    Requirement("openssl", "openssl"),
    Requirement("conntrack", "conntrack"),
    Requirement("util-linux", "nsenter"),
    Requirement("procps", "sysctl"),
    Requirement("fuse3", "fusermount3"),  # of the tests' mounts, and of their image
)
IMAGE = (
    Requirement("mmdebstrap", "mmdebstrap"),
    Requirement("gcc", "gcc"),
    Requirement("libc6-dev", "/usr/include/stdio.h"),
)
# Only for the test that opens the report page (tests/report/test_browser.py), hence not part of what `make up` needs.
BROWSER = (Requirement("chromium", "chromium"),)

# A Linux kernel that is a process, with md, and the programs that make arrays, file systems and partitions (tests/local_nvme).
# Unpacked into the cache, not installed: this machine does not need them, nor mdadm's rules for its own disks.
USERMODE = ("user-mode-linux", "mdadm", "xfsprogs", "libinih1", "liburcu8", "fdisk", "libfdisk1")


def ensure_packages(requirements: tuple[Requirement, ...]) -> None:
    """Install what is missing as root on Debian; anywhere else say all of it at once."""
    absent = [r.package for r in requirements if not r.met()]
    if not absent:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *absent]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ToolError(f"missing on this machine: {', '.join(absent)}; on Debian, as root: {' '.join(command)}")
    print(f"installing Debian packages: {' '.join(absent)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for attempt in (["apt-get", "update"], command):
        done = subprocess.run(attempt, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolError(f"`{' '.join(attempt)}` failed: {(done.stderr or done.stdout).strip()[-600:]}")
    still = [r.package for r in requirements if not r.met()]
    if still:
        raise ToolError(f"apt-get succeeded, yet these cannot be found: {', '.join(still)}")


def usermode_folder() -> Path:
    """Where USERMODE is unpacked; it appears by a rename, so if it exists it is whole."""
    return cache_folder() / "usermode"


def ensure_usermode() -> None:
    """Download and unpack what is missing, as whoever this is, wherever there is apt."""
    folder = usermode_folder()
    with locked(cache_folder() / "usermode.lock"):
        if folder.exists():
            return
        if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
            raise ToolError(f"missing on this machine: {', '.join(USERMODE)}; they are unpacked from Debian's packages only")
        print(f"unpacking Debian packages: {' '.join(USERMODE)}", flush=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as kept:
            _download(Path(kept))
            whole = Path(kept) / "root"
            for package in sorted(Path(kept).glob("*.deb")):
                subprocess.run(["dpkg", "--extract", str(package), str(whole)], check=True)
            whole.rename(folder)


def _download(into: Path) -> None:
    """The packages themselves; where apt has no lists of them, root fetches those first."""
    download, update = ["apt-get", "download", *USERMODE], ["apt-get", "update"]
    attempts = [download, update, download] if os.geteuid() == 0 else [download]
    for attempt in attempts:
        done = subprocess.run(attempt, cwd=into, capture_output=True, text=True, check=False)
        if done.returncode == 0 and attempt is download:
            return
    raise ToolError(f"`{' '.join(download)}` failed: {(done.stderr or done.stdout).strip()[-600:]}")
