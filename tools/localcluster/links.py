"""The cluster's network: a switch in a namespace of its own, one cable per machine, each cable shaped in both directions.

The switch (a bridge) is not on the host: there, a firewall's forwarding rules would apply to frames between nodes, and a
network manager would meddle with its ports.
"""

import json
import re
from pathlib import Path

from tools.errors import ToolError
from tools.localcluster.addresses import SERVICE_RANGE, Addresses
from tools.localcluster.commands import ip_batch, run, succeeds

# Without a limit a link is as fast as two busy cores copy memory (0.3 to 0.9 GB/s in an all-reduce, by the hour). At 1 Gbit/s
# the healthy figure is 0.06 to 0.08 GB/s whatever else runs, and a link degraded to a tenth stands out (0.007).
HEALTHY_RATE = "1gbit"
# One full GSO frame; the measured figures above hold for it.
BURST = "64kb"
LATENCY = "50ms"

SWITCH = "switch"
RATE_PATTERN = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>[kmg])bit")


def check_rate(rate: str) -> str:
    """A rate as tc says it, positive and no faster than the link."""
    found = RATE_PATTERN.fullmatch(rate)
    if not found or float(found["number"]) == 0:
        raise ToolError(f"{rate!r} is no rate; write for example 100mbit, 500kbit or 0.5gbit")
    if float(found["number"]) * {"k": 1e3, "m": 1e6, "g": 1e9}[found["unit"]] > 1e9:
        raise ToolError(f"{rate} is faster than a healthy link here ({HEALTHY_RATE})")
    return rate


def namespace_exists(name: str) -> bool:
    """Is there a network namespace of this name?"""
    return Path(f"/run/netns/{name}").exists()


def delete_namespace(name: str) -> None:
    """Delete it, and with it every interface inside and the far ends of their cables."""
    if namespace_exists(name):
        run("ip", "netns", "del", name)


def interfaces() -> dict[str, str]:
    """Interfaces of the host and their aliases."""
    return {link["ifname"]: link.get("ifalias", "") for link in json.loads(run("ip", "-json", "link"))}


def routes() -> list[str]:
    """Destinations of the host's routes."""
    return [route["dst"] for route in json.loads(run("ip", "-4", "-json", "route"))]


def ensure_switch(addresses: Addresses, alias: str) -> None:
    """The switch and the host's cable to it. The alias says which cluster the interface belongs to if its state is lost."""
    switch, host = addresses.network_namespace(SWITCH), addresses.tag
    if namespace_exists(switch) and _complete(switch, "br0") and host in interfaces():
        return
    delete_switch(addresses)
    run("ip", "netns", "add", switch)
    ip_batch(["link add br0 type bridge", "link set br0 up", "link set lo up"], switch)
    ip_batch(
        [
            f"link add {host} type veth peer name host netns {switch}",
            f"link set {host} alias {alias}",
            f"address add {addresses.host_ip}/24 dev {host}",
            f"link set {host} up",
        ]
    )
    # Last, so that its presence means that the rest is there too.
    ip_batch(["link set host master br0", "link set host up"], switch)
    set_in_namespace(switch, "net/bridge/bridge-nf-call-iptables", "0")


def delete_switch(addresses: Addresses) -> None:
    """Delete the switch and the host's cable."""
    delete_namespace(addresses.network_namespace(SWITCH))
    succeeds("ip", "link", "del", addresses.tag)  # normally gone with its other end, a little later or already


def plug_in(addresses: Addresses, machine: str, ip: str) -> None:
    """A fresh network namespace for a machine and its cable. No default route: pods have no business outside."""
    switch, own = addresses.network_namespace(SWITCH), addresses.network_namespace(machine)
    run("ip", "netns", "add", own)
    ip_batch([f"link add {machine} type veth peer name eth0 netns {own}", f"link set {machine} master br0 up"], switch)
    ip_batch(
        [f"address add {ip}/24 dev eth0", "link set lo up", "link set eth0 up", f"route add {SERVICE_RANGE} dev eth0"],
        own,
    )


def shape(addresses: Addresses, machine: str, rate: str) -> None:
    """Limit the cable in both directions: at the switch's port (to the machine) and at the machine's (from it)."""
    for namespace, device in _ends(addresses, machine):
        run(
            *["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf"],
            *["rate", rate, "burst", BURST, "latency", LATENCY],
        )


def current_rate(addresses: Addresses, machine: str) -> str:
    """The machine's cable as tc prints it, both directions if they differ; `-` when it is unplugged."""
    found: set[str] = set()
    for namespace, device in _ends(addresses, machine):
        if namespace_exists(namespace) and succeeds("ip", "-n", namespace, "link", "show", device):
            told = re.search(r"\brate (\S+)", run("tc", "-n", namespace, "qdisc", "show", "dev", device))
            found.add(told[1] if told else "unlimited")
    return "/".join(sorted(found)) or "-"


def set_in_namespace(namespace: str, sysctl: str, value: str) -> None:
    """Write a sysctl of a network namespace, if this kernel has it."""
    if Path(f"/proc/sys/{sysctl}").exists():
        run("nsenter", f"--net=/run/netns/{namespace}", "sysctl", "-qw", f"{sysctl.replace('/', '.')}={value}")


def _ends(addresses: Addresses, machine: str) -> list[tuple[str, str]]:
    return [(addresses.network_namespace(SWITCH), machine), (addresses.network_namespace(machine), "eth0")]


def _complete(switch: str, bridge: str) -> bool:
    ports = json.loads(run("ip", "-n", switch, "-json", "link", "show", "type", "veth"))
    return any(port["ifname"] == "host" and port.get("master") == bridge and "UP" in port["flags"] for port in ports)
