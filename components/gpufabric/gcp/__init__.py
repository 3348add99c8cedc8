"""Ring 4, Google Cloud: the components of a training cluster on GKE, each usable alone, and the stack that composes them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpufabric.gcp.gke_cluster import GkeCluster
from gpufabric.gcp.network import GcpNetwork
from gpufabric.gcp.node_pool import GkeGpuNodePool
from gpufabric.gcp.stack import GcpTrainingStack

if TYPE_CHECKING:
    from gpufabric.gcp.filestore import Filestore
    from gpufabric.gcp.gcs_bucket import GcsBucket
    from gpufabric.gcp.managed_lustre import ManagedLustre

__all__ = [
    "Filestore",
    "GcpNetwork",
    "GcpTrainingStack",
    "GcsBucket",
    "GkeCluster",
    "GkeGpuNodePool",
    "ManagedLustre",
]

_LATER = {"Filestore": "filestore", "GcsBucket": "gcs_bucket", "ManagedLustre": "managed_lustre"}


def __getattr__(name: str) -> Any:
    """Storage is imported when it is asked for: each has a module of the SDK of its own."""
    if name in _LATER:
        return getattr(import_module(f"gpufabric.gcp.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
