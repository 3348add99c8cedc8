"""Commands: up, down, status, degrade, restore, kill, revive, restart, load, kueue, kubeconfig."""

import argparse
import re
from pathlib import Path

from tools.errors import ToolError
from tools.localcluster import kueue, lifecycle, operations
from tools.localcluster.cluster import DEFAULT_NAME, DEFAULT_WORKERS, Wish, check_name, kubeconfig_of, read_wish

DESCRIPTION = """A Kubernetes cluster with real pods on this machine, made of Linux namespaces.

Machines: cp (control plane), system (untainted, for controllers), n0, n1, ... (workers). Links are limited to 1 Gbit/s.
State: $GPUFABRIC_STATE, programs and images: $GPUFABRIC_CACHE. Clusters with different --name run side by side."""


def main() -> int:
    """Parse and run."""
    given = _parser().parse_args()
    name = check_name(given.name)
    match given.command:
        case "up":
            labels = _labels(name, given.workers, given.label) if given.label else None
            lifecycle.up(name, given.workers, labels, torch=given.torch)
        case "down":
            lifecycle.down(name)
        case "status":
            return operations.status(name)
        case "degrade":
            operations.degrade(name, given.node, given.rate)
        case "restore":
            operations.restore(name, given.node)
        case "kill":
            operations.kill(name, given.node)
        case "revive":
            operations.revive(name, given.node)
        case "restart":
            operations.restart(name, given.machine, given.program)
        case "load":
            operations.load(name, given.archive)
        case "kueue":
            kueue.install(name)
        case "kubeconfig":
            print(kubeconfig_of(name))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.localcluster", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", default=DEFAULT_NAME, help="which cluster (default: %(default)s)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="bring up, or heal what is broken; does nothing when all is well")
    up.add_argument("--workers", type=int, help=f"number of workers (default: as last time, else {DEFAULT_WORKERS})")
    label_help = "extra label of all workers, or of one (repeatable; replaces those of last time)"
    up.add_argument("--label", action="append", default=[], metavar="[NODE:]KEY=VALUE", help=label_help)
    up.add_argument("--torch", action="store_true", help="nodes have the image with torch, too (minutes, the first time)")
    commands.add_parser("down", help="remove the cluster and all that it made")
    commands.add_parser("status", help="machines, links, programs; exit status 1 when something is wrong")
    degrade = commands.add_parser("degrade", help="slow a node's link down, in both directions")
    degrade.add_argument("node")
    degrade.add_argument("rate", help="as tc says it: 100mbit")
    restore = commands.add_parser("restore", help="give a node, or all, the healthy link back")
    restore.add_argument("node", nargs="?")
    for command, text in (("kill", "cut a node's power"), ("revive", "switch a node on again")):
        commands.add_parser(command, help=text).add_argument("node")
    restart = commands.add_parser("restart", help="restart a program of a machine")
    restart.add_argument("machine")
    restart.add_argument("program", help="kubelet, containerd, kube-apiserver, ...")
    commands.add_parser("load", help="import a docker archive on every node").add_argument("archive", type=Path)
    commands.add_parser("kueue", help="install the pinned Kueue, the queue of scheduler: {kind: kueue}")
    commands.add_parser("kubeconfig", help="print the path of the administrator's kubeconfig")
    return parser


def _labels(name: str, workers: int | None, given: list[str]) -> dict[str, dict[str, str]]:
    """[NODE:]KEY=VALUE -> labels by worker."""
    known = read_wish(name) or Wish()
    all_workers = Wish(known.workers if workers is None else workers).worker_names
    labels: dict[str, dict[str, str]] = {}
    for text in given:
        found = re.fullmatch(r"(?:(?P<node>[a-z0-9]+):)?(?P<key>[A-Za-z0-9._/-]+)=(?P<value>[A-Za-z0-9._-]*)", text)
        if not found:
            raise ToolError(f"--label {text!r} is not [NODE:]KEY=VALUE, as in n0:example.com/rack=r1")
        for worker in [found["node"]] if found["node"] else all_workers:
            labels.setdefault(worker, {})[found["key"]] = found["value"]
    return labels
