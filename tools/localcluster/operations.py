"""What one does to a running cluster: degrade links, cut power, restart programs, load images, look."""

from datetime import UTC, datetime
from pathlib import Path

from tools.errors import ToolError
from tools.folders import locked
from tools.localcluster import health, links, node
from tools.localcluster.cluster import Cluster, folder_of, kubeconfig_of
from tools.localcluster.lifecycle import LOCK_MESSAGE, existing, require_root, start_node, wait_ready


def degrade(name: str, node_name: str, rate: str) -> None:
    """Slow a node's link down, in both directions; it stays so until `restore`, also over another `up`."""
    require_root()
    rate = links.check_rate(rate)
    cluster = existing(name)
    machine = cluster.find_node(node_name)
    _require_on(cluster, node_name)
    links.shape(cluster.addresses, machine.name, rate)
    print(f"link of {node_name}: {links.current_rate(cluster.addresses, node_name)}")


def restore(name: str, node_name: str | None) -> None:
    """Put links back to the healthy rate: one node's, or all."""
    require_root()
    cluster = existing(name)
    names = [cluster.find_node(node_name).name] if node_name else [n for n, m in cluster.nodes.items() if m.booted()]
    for one in names:
        _require_on(cluster, one)
        links.shape(cluster.addresses, one, links.HEALTHY_RATE)
        print(f"link of {one}: {links.current_rate(cluster.addresses, one)}")


def kill(name: str, node_name: str) -> None:
    """Cut a node's power: nothing of it gets to say goodbye, and its cable goes dead."""
    require_root()
    cluster = existing(name)
    machine = cluster.find_node(node_name)
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        machine.power_off()
    print(f"{node_name} is off; the control plane notices within a quarter of a minute")


def revive(name: str, node_name: str) -> None:
    """Switch a node on again and wait for it to be Ready."""
    require_root()
    cluster = existing(name)
    machine = cluster.find_node(node_name)
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        since = datetime.now(UTC)
        start_node(cluster, machine)
        wait_ready(cluster, [node_name], since)
    print(f"{node_name} is Ready")


def restart(name: str, machine_name: str, program: str) -> None:
    """Restart one program of a machine."""
    require_root()
    cluster = existing(name)
    machines = {machine.name: machine for machine in cluster.machines}
    if machine_name not in machines:
        raise ToolError(f"cluster {name} has no machine {machine_name!r}; it has {', '.join(machines)}")
    daemons = cluster.daemons_of(machines[machine_name])
    if program not in daemons:
        raise ToolError(f"{machine_name} runs no {program!r}; it runs {', '.join(daemons)}")
    _require_on(cluster, machine_name)
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        daemons[program].stop()
        daemons[program].ensure()
    print(f"{program} of {machine_name} restarted; log {daemons[program].log}")


def load(name: str, archive: Path) -> None:
    """Import an image archive on every node."""
    require_root()
    cluster = existing(name)
    if not archive.is_file():
        raise ToolError(f"there is no image archive {archive}")
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        for machine in cluster.nodes.values():
            _require_on(cluster, machine.name)
            node.import_archive(machine, archive.absolute())
            print(f"{machine.name}: {archive.name}", flush=True)


def status(name: str) -> int:
    """Print what is there; 0 when all is well, 1 when not."""
    require_root()
    cluster = existing(name)
    print(f"cluster {name}: API {cluster.pki.server}, kubeconfig {kubeconfig_of(name)}")
    for machine in cluster.machines:
        running = [daemon.name for daemon in cluster.daemons_of(machine).values() if daemon.running()]
        rate = links.current_rate(cluster.addresses, machine.name)
        labels = "" if machine is cluster.control_plane else _format(cluster.labels(machine.name))
        state = f"on   link {rate:10}" if machine.booted() else "off  link -         "
        print(f"  {machine.name:8}{machine.ip:14}{state} {' '.join(running) or '-'}  {labels}".rstrip())
    wrong = health.problems(cluster)
    print("healthy" if not wrong else "\n".join(["not healthy:", *(f"  {problem}" for problem in wrong)]))
    return 1 if wrong else 0


def _require_on(cluster: Cluster, machine_name: str) -> None:
    machine = next(m for m in cluster.machines if m.name == machine_name)
    if not machine.booted():
        raise ToolError(f"{machine_name} is off; `revive {machine_name}` or `up` switches it on")


def _format(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())
