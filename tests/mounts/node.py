"""A node for mounts: namespaces around one process, in them a real S3 server, a real rclone, and the agent beside it.

One SIGKILL to that process ends all of them, as a power cut does; what they wrote to disk stays. Nothing listens outside the
namespace, and no mount is seen outside. Tests reach the node's files below ``/proc/PID/root``.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufabric.mounts import contract
from gpufabric.plan.mounts import MountPlan, resolve_bucket_mount, resolve_cached_mount
from gpufabric.spec.mounts import BucketMountSpec, CachedMountSpec
from tools.toolchain.cli import path_folder

MIB = 1 << 20
BUCKET = "checkpoints"
GIVEN = {"AWS_ACCESS_KEY_ID": "gpufabric", "AWS_SECRET_ACCESS_KEY": "not-a-secret", contract.ENV_NODE: "n0"}
"""What Kubernetes puts in place of a reference; no namespace, so that the agent has no cluster to report to."""
PATH = f"{path_folder()}:{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
ENDPOINT = "127.0.0.1:7070"
INIT = f"""
mount --make-rprivate / && mount -t tmpfs tmpfs /run && ip link set lo up
for each in lib config cache run; do mkdir -p /run/gpufabric/$each; mount --bind "$0/$each" /run/gpufabric/$each; done
mkdir -p {contract.HOST_ROOT} && : >/run/booted && exec sleep infinity
"""


WISH: dict[str, Any] = {
    "name": "ckpt",
    "bucket": {"kind": "s3", "name": BUCKET, "region": "us-east-1", "endpoint": f"http://{ENDPOINT}"},
    "path": "/checkpoints",
    "node_selector": {"pool": "train"},
    "image": "localhost/gpufabric/gate:1",
    "namespace": "mounts",
    "credentials_secret": "keys",
}


def cached_plan(**wish: Any) -> MountPlan:
    """MOUNT_CACHED of the tests' bucket."""
    given = {**WISH, "cache_path": "/mnt/nvme", "cache_gib": 8, "drain_seconds": 20, **wish}
    return resolve_cached_mount(CachedMountSpec.parse(given), "test")


def plain_plan(**wish: Any) -> MountPlan:
    """MOUNT of the tests' bucket."""
    plan = resolve_bucket_mount(BucketMountSpec.parse({**WISH, **wish}), "test")
    assert isinstance(plan, MountPlan)
    return plan


@dataclass
class Node:
    """``disk`` outlives power cuts. What runs are the containers of ``plan``, to the letter."""

    disk: Path
    plan: MountPlan
    machine: subprocess.Popen[bytes] | None = None
    init: int = 0
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The node's file system, from outside."""
        assert self.init
        return Path(f"/proc/{self.init}/root")

    @property
    def folder(self) -> Path:
        return Path(f"{self.root}{contract.folder(contract.HOST_ROOT, self.plan.mount)}")

    @property
    def files(self) -> Path:
        """What a pod sees: the bucket."""
        return self.folder / contract.FILES

    @property
    def cache(self) -> Path:
        return self.disk / "cache"

    @property
    def bucket(self) -> Path:
        """What is really in the bucket: the server keeps plain files."""
        return self.disk / "server" / BUCKET

    def boot(self) -> None:
        """Switch on; nothing runs yet."""
        for folder in ("lib/gpufabric", "config", "cache", "run"):
            (self.disk / folder).mkdir(parents=True, exist_ok=True)
        for key, text in self.plan.files.items():
            of_config = key == "rclone.conf"
            file = self.disk / ("config/rclone.conf" if of_config else f"lib/gpufabric/{key.replace('.', '/', 1)}")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-ec", INIT]
        self.machine = subprocess.Popen([*command, str(self.disk)], start_new_session=True)
        await_(lambda: _children(self.machine), "unshare to fork")
        (self.init,) = _children(self.machine)
        await_((self.root / "run/booted").exists, "the node to boot")

    def power_off(self) -> None:
        """Cut the power."""
        if self.machine is not None:
            self.machine.kill()  # --kill-child: process 1 goes with it, and everything of its namespace
            for process in (self.machine, *self.running.values()):
                process.wait()
        self.machine, self.init, self.running = None, 0, {}

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", "--target", str(self.init), "--mount", "--net", "--pid", "--", *command]

    def run(self, *command: str) -> str:
        """Run inside to the end."""
        return subprocess.run(self.inside(*command), check=True, capture_output=True, text=True).stdout

    def start(self, role: str, *command: str, **environment: str) -> None:
        """Start inside; output goes to DISK/role.log."""
        with (self.disk / f"{role}.log").open("ab") as log:
            self.running[role] = subprocess.Popen(
                self.inside("env", "-i", *(f"{key}={value}" for key, value in environment.items()), *command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self, role: str, number: signal.Signals = signal.SIGKILL) -> None:
        """A signal to the program itself (nsenter forked it), and its end."""
        process = self.running.pop(role)
        for child in _children(process):
            os.kill(child, number)
        process.wait(timeout=60)

    def serve(self) -> None:
        """The S3 server."""
        self.bucket.mkdir(parents=True, exist_ok=True)
        program, keys = f"{path_folder()}/versitygw", {"ROOT_ACCESS_KEY": "gpufabric", "ROOT_SECRET_KEY": "not-a-secret"}
        self.start("server", program, "--quiet", "--port", ENDPOINT, "posix", str(self.disk / "server"), **keys)
        await_(lambda: "7070" in self.run("ss", "-ltn"), "the server to listen")

    def limit(self, mbytes_per_s: int) -> None:
        """The server's bandwidth, by the kernel's token bucket; 0: unlimited."""
        subprocess.run(self.inside("tc", "qdisc", "del", "dev", "lo", "root"), check=False, capture_output=True)
        if mbytes_per_s:
            rate = f"{mbytes_per_s * 8}mbit"
            self.run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate, "burst", "256k", "latency", "200ms")

    def mount(self, *, wait: bool = True) -> None:
        """Start the containers of the mount that do not run."""
        for container in self.plan.daemon_set_spec["template"]["spec"]["containers"]:
            if container["name"] not in self.running:
                given = {each["name"]: each.get("value") or GIVEN.get(each["name"], "") for each in container["env"]}
                self.start(container["name"], *container["command"], **given, PATH=PATH, HOME="/root")
        if wait:
            await_(self.mounted, "the bucket to be mounted", log=self.disk / "mount.log")

    def mounted(self) -> bool:
        """By the agent, and by the eye."""
        return self.status().get("state") == "mounted" and self.is_mount_point()

    def is_mount_point(self) -> bool:
        """os.path.ismount would look at this machine's path instead of the node's. A dead mount is none."""
        try:
            return self.files.stat().st_dev != self.folder.stat().st_dev
        except OSError:
            return False

    def status(self) -> dict[str, str]:
        """What the barrier reads."""
        try:
            lines = (self.folder / contract.STATUS).read_text("utf-8").splitlines()
        except FileNotFoundError:
            return {}
        return dict(line.split("=", 1) for line in lines)

    def flush(self, timeout_s: int = 60, shell: str = "sh") -> subprocess.CompletedProcess[str]:
        """The barrier, as a pod calls it."""
        script = f"{contract.folder(contract.HOST_ROOT, self.plan.mount)}/{contract.FLUSH}"
        command = self.inside("env", "-i", "PATH=/bin:/usr/bin", shell, script, "--timeout", str(timeout_s))
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def log(self) -> str:
        """What mount.sh and rclone said."""
        return (self.disk / "mount.log").read_text("utf-8", "replace")

    def in_bucket(self) -> dict[str, str]:
        """Name -> checksum of all that is in the bucket."""
        return {
            path.relative_to(self.bucket).as_posix(): checksum(path)
            for path in self.bucket.rglob("*")
            if path.is_file() and not path.relative_to(self.bucket).parts[0].startswith(".sgwtmp")
        }


def _children(process: subprocess.Popen[bytes] | None) -> list[int]:
    assert process is not None
    return [int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()]


def await_(condition: Callable[[], object], what: str, timeout_s: float = 30, log: Path | None = None) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        said = log.read_text("utf-8", "replace")[-2000:] if log and log.exists() else ""
        assert time.monotonic() < deadline, f"{timeout_s} s are over, waiting for {what}\n{said}"
        time.sleep(0.02)


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pieces(size: int, seed: int) -> Iterator[bytes]:
    """A file of that size that no other seed yields."""
    block = hashlib.sha256(f"{seed}".encode()).digest() * (MIB // 32)
    for number in range((size + MIB - 1) // MIB):
        yield (number.to_bytes(8, "big") + block)[: min(MIB, size - number * MIB)]


def sum_of(size: int, seed: int = 0) -> str:
    """The checksum of what ``write`` writes."""
    digest = hashlib.sha256()
    for piece in _pieces(size, seed):
        digest.update(piece)
    return digest.hexdigest()


def save(path: Path, size: int, seed: int = 0) -> None:
    """Write a file of that size and close it, and nothing else: what is timed."""
    with path.open("wb") as file:
        for piece in _pieces(size, seed):
            file.write(piece)


def write(path: Path, size: int, seed: int = 0) -> str:
    """Save it; the checksum of what was written."""
    save(path, size, seed)
    return sum_of(size, seed)


@contextmanager
def running(node: Node) -> Iterator[Node]:
    """The node with its server and its mount, from boot to power off."""
    node.boot()
    try:
        node.serve()
        node.mount()
        yield node
    finally:
        node.power_off()
