"""A machine: network, mount, pid and UTS namespaces around one process that only reaps.

Everything else of the machine lives inside, so that default paths and ports serve on each of them, and one SIGKILL to that
process is a power cut: the kernel ends daemons, pods and mounts with it.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.localcluster import cgroups, links, processes
from tools.localcluster.addresses import Addresses
from tools.localcluster.commands import ENVIRONMENT, run, succeeds
from tools.localcluster.registry import MOUNT_POINTS
from tools.localcluster.waits import wait_until

# `/run` is fresh as after a boot, `rshared` lets pods propagate mounts as on a real node. boot_id: the kernel is the host's, so
# its id would be the same for all machines and all their boots; the kubelet reports it. bridge-nf-call: a pod that calls a
# Service whose endpoint is on its own node is answered through the bridge, past the rules that would translate it back.
INIT = """
set -e
mount --make-rshared /
mount -t tmpfs tmpfs /run
cat /proc/sys/kernel/random/uuid > /run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
hostname "$1"
for folder in {mount_points}; do mount --bind "$2/disk$folder" "$folder"; done
sysctl -qw net.ipv4.ip_forward=1
if [ -e /proc/sys/net/bridge ]; then sysctl -qw net.bridge.bridge-nf-call-iptables=1; fi
: > /run/booted
while :; do sleep 3600 & wait $!; done
"""


MARKER = "gpufabric-machine:"


@dataclass(frozen=True)
class Machine:
    """One machine of a cluster; everything about its present state is asked from the kernel."""

    name: str
    ip: str
    folder: Path
    addresses: Addresses

    @property
    def marker(self) -> str:
        """An argument that no other process of this host has: it contains the path of the cluster's state."""
        return f"{MARKER}{self.folder}"

    @property
    def containerd_folder(self) -> Path:
        """The host's view of its /var/lib/containerd."""
        return self.folder / "disk/var/lib/containerd"

    def init(self) -> int | None:
        """Pid (on the host) of the machine's process 1, if it runs and got through its boot."""
        for pid in processes.with_argument(self.marker):
            if processes.is_namespace_init(pid) and Path(f"/proc/{pid}/root/run/booted").exists():
                return pid
        return None

    def booted(self) -> bool:
        """Does it run?"""
        return self.init() is not None

    def ensure_booted(self) -> bool:
        """Boot it unless it runs and is plugged in; says whether it had to."""
        if self.booted() and links.current_rate(self.addresses, self.name) != "-":
            return False
        self.power_off()
        self._boot()
        return True

    def _boot(self) -> None:
        for mount_point in MOUNT_POINTS:
            (self.folder / f"disk{mount_point}").mkdir(parents=True, exist_ok=True)
        links.plug_in(self.addresses, self.name, self.ip)
        links.shape(self.addresses, self.name, links.HEALTHY_RATE)
        cgroups.make(self.addresses.tag, self.name)
        namespace = f"--net=/run/netns/{self.addresses.network_namespace(self.name)}"
        script = INIT.format(mount_points=" ".join(MOUNT_POINTS))
        log = self.folder / "boot.log"
        with log.open("w") as output:
            subprocess.Popen(
                # Not `ip netns exec`: it mounts a fresh /sys without the control groups.
                [
                    *("nsenter", namespace, "unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"),
                    *("--propagation", "slave", "bash", "-c", script, self.marker, self.name, str(self.folder)),
                ],
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode = 0  # it outlives this program on purpose
        wait_until(f"machine {self.name} to boot", self.booted, timeout_seconds=10, log=log)

    def power_off(self) -> None:
        """Cut the power and pull the cable; safe in any state, also half-booted."""
        processes.end_all(lambda pid: self.marker in processes.command_line(pid))
        links.delete_namespace(self.addresses.network_namespace(self.name))
        cgroups.remove(self.addresses.tag, self.name)

    def daemons(self) -> dict[int, list[str]]:
        """Processes of the machine itself (pods live in pid namespaces below), pid -> arguments."""
        init = self.init()
        return processes.in_namespace(processes.pid_namespace(init)) if init else {}

    def inside(self, *command: str) -> list[str]:
        """The command that runs a command inside."""
        return ["nsenter", "--target", str(self.init() or 0), "--mount", "--net", "--pid", "--uts", "--", *command]

    def run(self, *command: str) -> str:
        """Run inside and return stdout."""
        return run(*self.inside(*command))

    def succeeds(self, *command: str) -> bool:
        """Run inside for the exit status."""
        return succeeds(*self.inside(*command))
