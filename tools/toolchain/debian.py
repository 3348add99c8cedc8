"""What the local cluster takes from the distribution: checked by a file each package brings, installed where possible."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.errors import ToolError

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
