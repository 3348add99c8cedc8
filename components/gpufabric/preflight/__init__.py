"""Look, read-only, at what a plan needs to find: before anything is created, with every finding in one report.

Beside the rings: knows spec, plan and the small API client of ``gpufabric.validation``; never Pulumi, never a cloud's SDK.
"""

from gpufabric.preflight.kubeconfig import KubeconfigError, connect
from gpufabric.preflight.kubernetes import preflight_kubernetes

__all__ = ["KubeconfigError", "connect", "preflight_kubernetes"]
