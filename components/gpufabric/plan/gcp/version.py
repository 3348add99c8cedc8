"""The version of GKE, and what needs a newer one."""

from collections.abc import Iterable

from gpufabric.hardware import GcpMachine, UnknownHardwareError, gke_minimums
from gpufabric.hardware.gke import default_gke_version, gke_versions, version_numbers
from gpufabric.plan.gcp.model import DRANET, GkeNodePoolPlan
from gpufabric.spec import Problem


def kubernetes_version(wanted: str | None, path: str) -> str | Problem:
    """The version asked for, whole or as its minor version alone (then GKE takes the newest patch), or why there is none."""
    if wanted is None:
        return default_gke_version().kubernetes
    minor = ".".join(wanted.split(".")[:2])
    if minor in gke_versions():
        return wanted
    unknown = UnknownHardwareError("Kubernetes version of GKE", minor, gke_versions())
    return Problem(path, str(unknown), "write one of these in quotes, or leave it out")


def needs_of(machine: GcpMachine, attachment: str | None, capacity_kind: str) -> tuple[str, ...]:
    """Everything of a pool that works from some version on, by the table's names."""
    of_fabric = (machine.fabric, machine.name) if attachment else (machine.name,)
    return (*of_fabric, *((DRANET,) if attachment == DRANET else ()), capacity_kind)


def version_problems(version: str, needs: Iterable[str], path: str) -> list[Problem]:
    """A version that is too old for what is asked of the nodes."""
    problems = []
    for need in needs:
        rows = gke_minimums(need)
        minor = version_numbers(version)[:2]
        if not rows or minor > rows[-1].minor:
            continue
        same = next((row for row in rows if row.minor == minor), None)
        if same and same.holds_for(version):
            continue
        least = same or rows[-1]
        reason = f"{need.replace('_', '-')} works from {least.version} on; {version} is older"
        problems.append(Problem(path, reason, "write a newer version, or leave it out", str(least.provenance)))
    return problems


def pool_version_problems(version: str, plan: GkeNodePoolPlan, path: str) -> list[Problem]:
    """A version that is too old for a node pool."""
    return version_problems(version, needs_of(plan.machine, plan.attachment, plan.capacity.kind), path)
