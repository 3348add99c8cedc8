"""One cluster as it should be: its machines, daemons and images. What is there is compared with this, never remembered."""

import json
import re
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from tools.errors import ToolError
from tools.folders import state_folder
from tools.localcluster import control_plane, node
from tools.localcluster.addresses import Addresses
from tools.localcluster.api import Api
from tools.localcluster.daemon import Daemon
from tools.localcluster.machine import Machine
from tools.localcluster.pki import Pki

DEFAULT_NAME = "local"
DEFAULT_WORKERS = 2
MAX_WORKERS = 16

# The system node is small and untainted: controllers, the gate's coordinator and its judge run there.
SYSTEM = "system"
POOL_LABEL = "gpufabric.dev/pool"


@dataclass(frozen=True)
class Wish:
    """What a user asked for; kept in the cluster's folder, so that a plain `up` heals the same cluster."""

    workers: int = DEFAULT_WORKERS
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    torch: bool = False
    """Nodes have the image with torch, too."""

    @property
    def worker_names(self) -> list[str]:
        """n0, n1, ..."""
        return [f"n{i}" for i in range(self.workers)]


def check_name(name: str) -> str:
    """Names become folders and kubeconfig contexts."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", name):
        raise ToolError(f"{name!r} is no cluster name: a small letter, then at most 19 of a-z, 0-9 and -")
    return name


def folder_of(name: str) -> Path:
    """Where everything of a cluster lies."""
    return state_folder() / "clusters" / check_name(name)


def kubeconfig_of(name: str) -> Path:
    """The administrator's kubeconfig."""
    return folder_of(name) / "kubeconfig"


def read_wish(name: str) -> Wish | None:
    """What was asked for last time; None when this cluster was never begun, not since the machine booted, or is a wreck."""
    try:
        content = json.loads((folder_of(name) / "wish.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Wish(**content["wish"]) if content["boot_id"] == boot_id() else None


def write_wish(name: str, wish: Wish) -> None:
    """Keep it, whole or not at all."""
    file = folder_of(name) / "wish.json"
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps({"boot_id": boot_id(), "wish": asdict(wish)}, indent=1))
    unfinished.rename(file)


def boot_id() -> str:
    """Changes with every boot; after one, nothing of a cluster but its folder is left."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True)
class Cluster:
    """Name, place in the address plan, wish, and the programs and images that it is made of."""

    name: str
    addresses: Addresses
    wish: Wish
    programs: dict[str, Path]
    pause_reference: str
    image_store: Path

    @property
    def folder(self) -> Path:
        """Where everything of the cluster lies."""
        return folder_of(self.name)

    @cached_property
    def pki(self) -> Pki:
        """Its certificates."""
        return Pki(self.folder / "pki", f"https://{self.addresses.control_plane_ip}:{control_plane.API_PORT}")

    @cached_property
    def api(self) -> Api:
        """Its API, as administrator."""
        return Api(self.pki)

    @cached_property
    def control_plane(self) -> Machine:
        """The machine `cp`."""
        return self._machine(control_plane.NAME, self.addresses.control_plane_ip)

    @cached_property
    def nodes(self) -> dict[str, Machine]:
        """The system node and the workers."""
        names = [SYSTEM, *self.wish.worker_names]
        return {name: self._machine(name, self.addresses.machine_ip(i)) for i, name in enumerate(names)}

    @property
    def machines(self) -> list[Machine]:
        """All of them, the control plane first."""
        return [self.control_plane, *self.nodes.values()]

    def find_node(self, name: str) -> Machine:
        """A node by name; an unknown one is a user's error."""
        if name not in self.nodes:
            raise ToolError(f"cluster {self.name} has no node {name!r}; it has {', '.join(self.nodes)}")
        return self.nodes[name]

    def labels(self, name: str) -> dict[str, str]:
        """Labels of a node."""
        return {POOL_LABEL: "system" if name == SYSTEM else "train", **self.wish.labels.get(name, {})}

    def pod_subnet(self, name: str) -> str:
        """Pods of a node."""
        return self.addresses.pod_subnet(list(self.nodes).index(name))

    def control_plane_daemons(self) -> dict[str, Daemon]:
        """In the order in which they need each other."""
        cp, pki, programs = self.control_plane, self.pki, self.programs
        daemons = [
            control_plane.etcd(cp, programs["etcd"]),
            control_plane.api_server(cp, programs["kube-apiserver"], pki),
            control_plane.controller_manager(cp, programs["kube-controller-manager"], pki, self.name),
            control_plane.scheduler(cp, programs["kube-scheduler"], pki, self.name),
            control_plane.coredns(cp, programs["coredns"], pki, self.name),
        ]
        return {daemon.name: daemon for daemon in daemons}

    def node_daemons(self, name: str) -> dict[str, Daemon]:
        """containerd, kubelet and kube-proxy of a node."""
        machine, pki, programs = self.nodes[name], self.pki, self.programs
        dns_ip, labels = self.addresses.control_plane_ip, self.labels(name)
        daemons = [
            node.containerd(machine, self.pause_reference, self.pod_subnet(name)),
            node.kubelet(machine, programs["kubelet"], pki, self.name, dns_ip=dns_ip, labels=labels),
            node.kube_proxy(machine, programs["kube-proxy"], pki, self.name, self.addresses.pod_range),
        ]
        return {daemon.name: daemon for daemon in daemons}

    def daemons_of(self, machine: Machine) -> dict[str, Daemon]:
        """What should run on a machine."""
        return self.control_plane_daemons() if machine is self.control_plane else self.node_daemons(machine.name)

    def _machine(self, name: str, ip: str) -> Machine:
        return Machine(name, ip, self.folder / name, self.addresses)
