"""The version of GKE."""

from gpufabric.hardware import UnknownHardwareError
from gpufabric.hardware.gke import default_gke_version, gke_versions
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
