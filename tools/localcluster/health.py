"""Is the cluster as it should be? The answer is a list of what is not, in words."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tools.localcluster import control_plane, image_store, links
from tools.localcluster.api import is_ready
from tools.localcluster.cluster import Cluster, kubeconfig_of
from tools.localcluster.machine import Machine

# Kubelets renew every 2 s; the rest is for a busy machine.
LEASE_AGE = timedelta(seconds=control_plane.NODE_GRACE_SECONDS)


def problems(cluster: Cluster) -> list[str]:
    """Empty when everything runs, answers and is fresh."""
    try:
        return list(_machine_problems(cluster)) or list(_service_problems(cluster))
    except (OSError, ValueError) as error:
        return [f"the API server or the DNS does not answer ({error})"]


def ready_nodes(cluster: Cluster, since: datetime) -> set[str]:
    """Nodes that are Ready and whose kubelet said so after this moment."""
    renewals = cluster.api.lease_renewals()
    fresh = {name for name, time in renewals.items() if time >= since}
    return {name for name, found in cluster.api.nodes().items() if is_ready(found) and name in fresh}


def is_ours(name: str) -> bool:
    """Does the node have a worker's name? Fake nodes that somebody put beside ours are none of our business."""
    return name.startswith("n") and name[1:].isdigit()


def has_default_account(cluster: Cluster) -> bool:
    """Without it the first pod of a fresh cluster would be refused."""
    return bool(cluster.api.get("/api/v1/namespaces/default/serviceaccounts/default"))


def _machine_problems(cluster: Cluster) -> Iterator[str]:
    if not kubeconfig_of(cluster.name).exists():  # written after the last certificate
        yield "it was never completed"
        return
    for machine in cluster.machines:
        yield from _problems_of(cluster, machine)


def _problems_of(cluster: Cluster, machine: Machine) -> Iterator[str]:
    if not machine.booted():
        yield f"{machine.name} is off"
        return
    if links.current_rate(cluster.addresses, machine.name) == "-":
        yield f"{machine.name} is unplugged"
    if machine is not cluster.control_plane and not cluster.pki.certificate(machine.name).exists():
        return  # a worker that is wanted now and was not before; it is off, too
    running = list(machine.daemons().values())
    for daemon in cluster.daemons_of(machine).values():
        if list(daemon.command) not in running or not daemon.files_current():
            yield f"{daemon.name} of {machine.name} does not run as it should"
    if machine is not cluster.control_plane and not image_store.is_seeded(machine.containerd_folder, cluster.image_store):
        yield f"{machine.name} lacks the images"


def _service_problems(cluster: Cluster) -> Iterator[str]:
    if not cluster.api.ready():
        yield "the API server is not ready"
        return
    found = cluster.api.nodes()
    ready = ready_nodes(cluster, datetime.now(UTC) - LEASE_AGE)
    yield from (f"node {name} is not Ready" for name in cluster.nodes if name not in ready)
    yield from (f"node {name} should not be there" for name in found if name not in cluster.nodes and is_ours(name))
    if not has_default_account(cluster):
        yield "the default service account is not there yet"
    if not control_plane.dns_answers(cluster.addresses.control_plane_ip):
        yield "the cluster DNS does not know kubernetes.default"
