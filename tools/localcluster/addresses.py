"""Every name and address of a cluster follows from one small number, its index: clusters side by side never collide.

The host sees one interface per cluster (`gfab0`, 10.200.0.1). Machines lie in 10.200.INDEX.0/24, pods in 10.(216+INDEX).0.0/16,
one /24 per machine. Service addresses exist only as rules inside the machines, so all clusters share one range.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

MAX_CLUSTERS = 16  # pods take 10.216.0.0/16 to 10.231.0.0/16
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE_IP = "10.96.0.1"
FIRST_MACHINE = 10


@dataclass(frozen=True)
class Addresses:
    """Names and addresses of the cluster with this index."""

    index: int

    @property
    def tag(self) -> str:
        """Prefix of all names the kernel keeps in one flat space, and name of the host's interface (15 characters at most)."""
        return f"gfab{self.index}"

    @property
    def host_ip(self) -> str:
        """The host's end of the cluster's network."""
        return f"10.200.{self.index}.1"

    @property
    def control_plane_ip(self) -> str:
        """API server (6443) and cluster DNS (53)."""
        return f"10.200.{self.index}.2"

    @property
    def pod_range(self) -> str:
        """All pods of the cluster."""
        return f"10.{216 + self.index}.0.0/16"

    def machine_ip(self, position: int) -> str:
        """Node at this position, from 0."""
        return f"10.200.{self.index}.{FIRST_MACHINE + position}"

    def pod_subnet(self, position: int) -> str:
        """Pods of the node at this position."""
        return f"10.{216 + self.index}.{position}.0/24"

    def network_namespace(self, machine: str) -> str:
        """Name under /run/netns."""
        return f"{self.tag}-{machine}"


def free_index(taken: Iterable[int], host_interfaces: Iterable[str], host_routes: Iterable[str]) -> int | None:
    """The first index that no cluster holds and whose ranges no route of this machine overlaps; None if there is none."""
    taken, interfaces = set(taken), set(host_interfaces)
    routes = [ipaddress.ip_network(r, strict=False) for r in host_routes if r != "default"]
    for index in range(MAX_CLUSTERS):
        addresses = Addresses(index)
        ranges = [ipaddress.ip_network(f"{addresses.host_ip}/24", strict=False), ipaddress.ip_network(addresses.pod_range)]
        if index in taken or addresses.tag in interfaces:
            continue
        if not any(ours.overlaps(route) for ours in ranges for route in routes):
            return index
    return None
