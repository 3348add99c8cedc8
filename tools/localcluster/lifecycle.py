"""up and down. `up` is written as healing: each step makes true what is not yet, so that a start and a repair are one path."""

import os
import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

from tools.errors import ToolError
from tools.folders import cache_folder, locked, state_folder
from tools.image.build import ensure_images, ensure_torch
from tools.image.recipe import Recipe, read_recipe
from tools.localcluster import cgroups, control_plane, health, image_store, links, node, processes, registry
from tools.localcluster.addresses import Addresses
from tools.localcluster.cluster import MAX_WORKERS, Cluster, Wish, folder_of, kubeconfig_of, read_wish, write_wish
from tools.localcluster.commands import ip_batch, run
from tools.localcluster.daemon import Daemon
from tools.localcluster.machine import MARKER, Machine
from tools.localcluster.waits import ConditionTimeoutError
from tools.toolchain.build import ensure_built
from tools.toolchain.debian import CLUSTER, ensure_packages
from tools.toolchain.programs import read_programs, select

API_SECONDS = 90.0
READY_SECONDS = 90.0
LOCK_MESSAGE = "another command works on this cluster; waiting for it"


def require_root() -> None:
    """Namespaces, links and mounts need it."""
    if os.geteuid() != 0:
        raise ToolError("the local cluster needs root (namespaces, links, mounts); run the same command with sudo -E")


def describe(name: str, wish: Wish, addresses: Addresses) -> Cluster:
    """The cluster as it should be."""
    programs = {p.name: p.installed for p in select(read_programs(), "cluster")}
    store = image_store.store_of([recipe.archive for recipe in _images(wish)])
    return Cluster(name, addresses, wish, programs, read_recipe("pause").reference, store)


def _images(wish: Wish) -> list[Recipe]:
    """What every node has from its first moment."""
    return [read_recipe(key) for key in ("gate", "pause", *(["torch"] if wish.torch else []))]


def existing(name: str) -> Cluster:
    """A cluster that was brought up (or begun), for commands that need one."""
    wish, index = read_wish(name), registry.known_index(name)
    if wish is None or index is None or not kubeconfig_of(name).exists():
        raise ToolError(f"cluster {name} is not up; run `python3 -m tools.localcluster --name {name} up`")
    return describe(name, wish, Addresses(index))


def up(name: str, workers: int | None, labels: dict[str, dict[str, str]] | None, *, torch: bool = False) -> None:
    """Bring up or heal. `torch`: with the image that has torch, from now on."""
    require_root()
    _require_visible_folders()
    wish = _decide(read_wish(name) or Wish(), workers, labels, torch=torch)  # refused before anything is made, if it is wrong
    ensure_built(select(read_programs(), "cluster"))
    ensure_packages(CLUSTER)
    ensure_images()
    if wish.torch:
        ensure_torch()
    image_store.ensure_store([recipe.archive for recipe in _images(wish)])
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        folder_of(name).chmod(0o700)  # private keys
        known = read_wish(name)
        if known is None:
            _remove(name)  # left by a boot before this one, or by a start that was killed at once
        wish = _decide(known or Wish(), workers, labels, torch=torch)
        cluster = describe(name, wish, registry.enter(name))
        wrong = health.problems(cluster) if known else []
        if known and not wrong:
            print(f"cluster {name} is already up: {1 + len(cluster.nodes)} machines, kubeconfig {kubeconfig_of(name)}")
            return
        if known:
            more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            print(f"healing cluster {name}: {'; '.join(wrong[:3])}{more}", flush=True)
        write_wish(name, wish)
        try:
            _make_true(cluster)
        except ConditionTimeoutError as error:
            if not known:
                raise
            print(f"cannot be healed: {error}\nbuilding cluster {name} anew", flush=True)
            _remove(name)
            cluster = describe(name, wish, registry.enter(name))
            write_wish(name, wish)
            _make_true(cluster)


def down(name: str) -> None:
    """Remove the cluster and everything that it made, in whatever state it is."""
    require_root()
    if not folder_of(name).exists() and registry.known_index(name) is None and _index_on_host(name) is None:
        print(f"cluster {name} is not up: nothing to do")
        return
    started = time.monotonic()
    with locked(folder_of(name), waiting=LOCK_MESSAGE):
        _remove(name)
        folder_of(name).rmdir()
        registry.leave(name)
    print(f"cluster {name} is down ({time.monotonic() - started:.1f} s)")


def start_node(cluster: Cluster, machine: Machine) -> None:
    """Boot one node of a running cluster and start what belongs on it, without waiting for it to be Ready."""
    _ensure_seeded_and_booted(cluster, machine)
    _add_routes(cluster)
    containerd = cluster.node_daemons(machine.name)["containerd"]
    containerd.ensure()
    _wait_for_containerd(machine, containerd)
    _ensure_daemons(cluster, machine)


def wait_ready(cluster: Cluster, names: list[str], since: datetime) -> None:
    """Wait for nodes to be Ready by the word of a kubelet that lived after `since`."""

    def ready() -> bool:
        return set(names) <= health.ready_nodes(cluster, since)

    kubelet = cluster.node_daemons(names[0])["kubelet"]
    kubelet.wait_until(f"nodes {', '.join(names)} to be Ready", ready, READY_SECONDS)


def _make_true(cluster: Cluster) -> None:
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"[{time.monotonic() - started:5.1f} s] {what}", flush=True)

    _ensure_machines(cluster)
    say(f"{len(cluster.machines)} machines on, links of nodes at {links.HEALTHY_RATE} unless degraded")
    _ensure_certificates(cluster)
    since = datetime.now(UTC)
    daemons = cluster.control_plane_daemons()
    daemons["etcd"].ensure()
    daemons["kube-apiserver"].ensure()
    for name in cluster.nodes:
        cluster.node_daemons(name)["containerd"].ensure()  # while the API server starts
    daemons["kube-apiserver"].wait_until("the API server to be ready", cluster.api.ready, API_SECONDS)
    _ensure_daemons(cluster, cluster.control_plane)
    say("control plane ready")
    for machine in cluster.nodes.values():
        _wait_for_containerd(machine, cluster.node_daemons(machine.name)["containerd"])
        _ensure_daemons(cluster, machine)
    wait_ready(cluster, list(cluster.nodes), since)
    _correct_node_objects(cluster)
    say(f"{len(cluster.nodes)} nodes Ready")
    ip = cluster.addresses.control_plane_ip
    daemons["coredns"].wait_until("cluster DNS to answer", lambda: control_plane.dns_answers(ip), 30)
    daemons["kube-controller-manager"].wait_until(
        "the default service account to exist", lambda: health.has_default_account(cluster), 30
    )
    say(f"cluster {cluster.name} is up; export KUBECONFIG={kubeconfig_of(cluster.name)}")


def _ensure_machines(cluster: Cluster) -> None:
    if not Path("/proc/sys/net/bridge").exists():
        run("modprobe", "--all", "br_netfilter", "overlay")
    links.ensure_switch(cluster.addresses, str(cluster.folder))
    for folder in cluster.folder.glob("n[0-9]*"):
        if folder.name not in cluster.nodes:  # fewer workers are wanted than there were
            Machine(folder.name, "", folder, cluster.addresses).power_off()
            shutil.rmtree(folder)
    cluster.control_plane.ensure_booted()
    for machine in cluster.nodes.values():
        _ensure_seeded_and_booted(cluster, machine)
    _add_routes(cluster)


def _ensure_seeded_and_booted(cluster: Cluster, machine: Machine) -> None:
    if not image_store.is_seeded(machine.containerd_folder, cluster.image_store):
        machine.power_off()
        image_store.seed(machine.containerd_folder, cluster.image_store)
    machine.ensure_booted()


def _ensure_certificates(cluster: Cluster) -> None:
    control_plane.ensure_certificates(cluster.pki, cluster.addresses.control_plane_ip, cluster.name)
    for machine in cluster.nodes.values():
        node.ensure_certificate(cluster.pki, machine)
    kubeconfig_of(cluster.name).write_text(cluster.pki.kubeconfig("admin", cluster.name))


def _add_routes(cluster: Cluster) -> None:
    """Pods of every node from every machine and from the host: plain routes, nothing is translated on the way."""
    for machine in cluster.machines:
        others = [m for m in cluster.nodes.values() if m is not machine]
        commands = [f"route replace {cluster.pod_subnet(m.name)} via {m.ip}" for m in others]
        ip_batch(commands, cluster.addresses.network_namespace(machine.name))
    ip_batch([f"route replace {cluster.pod_subnet(m.name)} via {m.ip}" for m in cluster.nodes.values()])


def _wait_for_containerd(machine: Machine, containerd: Daemon) -> None:
    containerd.wait_until(f"containerd of {machine.name} to answer", lambda: node.containerd_answers(machine), 30)


def _ensure_daemons(cluster: Cluster, machine: Machine) -> None:
    for daemon in cluster.daemons_of(machine).values():
        daemon.ensure()


def _correct_node_objects(cluster: Cluster) -> None:
    """A kubelet sets labels only when it registers; nodes that are wanted no more leave an object behind."""
    for name, found in cluster.api.nodes().items():
        path = f"/api/v1/nodes/{name}"
        if name in cluster.nodes:
            wanted = cluster.labels(name)
            if not wanted.items() <= found["metadata"]["labels"].items():
                cluster.api.merge_patch(path, {"metadata": {"labels": wanted}})
        elif health.is_ours(name):
            cluster.api.delete(path)


def _require_visible_folders() -> None:
    """Machines mount their own folders over some of the host's: what lies there could not be seen from inside."""
    for folder in (state_folder(), cache_folder()):
        for hidden in ("/run", *registry.MOUNT_POINTS):
            if folder.resolve().is_relative_to(hidden):
                raise ToolError(f"{folder} lies in {hidden}, which every machine has for itself; choose another folder")


def _decide(known: Wish, workers: int | None, labels: dict[str, dict[str, str]] | None, *, torch: bool) -> Wish:
    all_labels = known.labels if labels is None else labels
    wish = Wish(known.workers if workers is None else workers, all_labels, known.torch or torch)
    if not 1 <= wish.workers <= MAX_WORKERS:
        raise ToolError(f"--workers {wish.workers}: from 1 to {MAX_WORKERS}")
    unknown = [name for name in wish.labels if name not in wish.worker_names]
    if unknown:
        raise ToolError(f"--label names the worker {unknown[0]!r}; there are {', '.join(wish.worker_names)}")
    return wish


def _remove(name: str) -> None:
    """Everything but the folder itself, which is locked. Found by what the kernel has: state may be half-written or gone."""
    folder = folder_of(name)
    marker = f"{MARKER}{folder}/"
    processes.end_all(lambda pid: any(part.startswith(marker) for part in processes.command_line(pid)))
    known = registry.known_index(name)
    index = _index_on_host(name) if known is None else known
    if index is not None:
        addresses = Addresses(index)
        if links.interfaces().get(addresses.tag, str(folder)) == str(folder):  # else a cluster of another state folder has it
            for namespace in Path("/run/netns").glob(f"{addresses.tag}-*"):
                links.delete_namespace(namespace.name)
            links.delete_switch(addresses)
            cgroups.remove(addresses.tag)
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _index_on_host(name: str) -> int | None:
    """The index of a cluster whose registration is lost, by the alias of its interface."""
    own = [interface for interface, alias in links.interfaces().items() if alias == str(folder_of(name))]
    found = re.fullmatch(r"gfab(\d+)", own[0]) if own else None
    return int(found[1]) if found else None
