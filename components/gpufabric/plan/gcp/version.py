"""The version of GKE, and what needs a newer one."""

from collections.abc import Iterable

from gpufabric.hardware import UnknownHardwareError, gke_minimums
from gpufabric.hardware.gke import default_gke_version, gke_versions, version_numbers
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


def version_problems(version: str, needs: Iterable[str], path: str) -> list[Problem]:
    """A version that is too old for what is asked of nodes: ``needs``, by the names of the table."""
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
