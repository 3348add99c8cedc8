"""The networks of a fabric as objects of a GKE cluster: a Network and its GKENetworkParamSet for each, in rail order."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpufabric.hardware import Machine, UnknownHardwareError, machine
from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.hardware.gke import gke_fabrics
from gpufabric.spec import Problem, SpecError

HOST_MODE = "NetDevice"
"""How a card of the host reaches a pod, in GKE's words; the rails' mode stands in the fabric's row."""


@dataclass(frozen=True, slots=True)
class NetworkObject:
    """``name`` of both objects in the cluster. ``mode``: NetDevice or RDMA."""

    name: str
    mode: str


def widest(machine_types: Iterable[str]) -> tuple[str, ...]:
    """Of a cluster's GPU machines those whose networks are declared: of machines that share networks, the one with most."""
    found: dict[str, Machine] = {}
    for name in machine_types:
        row = machine(name)
        if pod := fabric_pods().get(row.fabric):
            known = found.get(pod.network_name)
            found[pod.network_name] = row if known is None or row.fabric_devices > known.fabric_devices else known
    return tuple(row.name for row in found.values())


def plan_networks(machine_type: str, given: int) -> tuple[NetworkObject, ...]:
    """The objects, in the order of the node pool's additional networks, of which ``given`` are there; raises SpecError."""
    try:
        row = machine(machine_type)
    except UnknownHardwareError as error:
        raise SpecError([Problem("machine_type", str(error), "write one of these")]) from None
    pod = fabric_pods().get(row.fabric)
    if pod is None:
        having = ", ".join(sorted(fabric_pods()))
        reason = f"{machine_type} has no fabric whose networks a cluster lists ({having})"
        raise SpecError([Problem("machine_type", reason, "leave the component out")])
    if row.refusal:
        raise SpecError([Problem("machine_type", row.refusal, "take another machine", str(row.provenance))])
    names = pod.networks(row.fabric_devices)
    # A card too many is a problem on some machines alone; where it is none, pods get the first ones.
    if given != len(names) and not (given > len(names) and gke_fabrics()[row.fabric].more_networks):
        reason = f"{given} networks; a node of {machine_type} has exactly {len(names)} beside the cluster's own"
        fix = f"give those of its node pool, in their order: {', '.join(names)}"
        raise SpecError([Problem("networks", reason, fix, str(pod.provenance))])
    hosts = set(pod.host_networks)
    return tuple(NetworkObject(name, HOST_MODE if name in hosts else pod.network_mode) for name in names)
