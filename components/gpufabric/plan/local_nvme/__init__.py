"""Local NVMe that no cloud stripes: the DaemonSet that does it, what its account may do, and what a pod needs to use it."""

from gpufabric.plan.local_nvme.pod import PodScratch
from gpufabric.plan.local_nvme.resolve import LocalNvmePlan, of_groups, resolve_local_nvme

__all__ = ["LocalNvmePlan", "PodScratch", "of_groups", "resolve_local_nvme"]
