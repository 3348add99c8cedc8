"""Words and values that the plans of all clouds share: labels and taints of node groups, hourly cost."""

from dataclasses import dataclass
from typing import Any, Final

LABEL_GROUP: Final = "gpufabric.dev/node-group"
"""On every node of a group, with the group's name: what gates and jobs select by."""
LABEL_FABRIC: Final = "gpufabric.dev/fabric"
"""Only on nodes that have the fabric's devices, such as ``efa``: its device plugin ends where it finds none."""
FABRIC_EFA: Final = "efa"
GPU_TAINT_KEY: Final = "nvidia.com/gpu"
GPU_TAINT_VALUE: Final = "present"
"""Feature discovery tolerates only this value (k8s-device-plugin issue 1934)."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint in Kubernetes' own words: ``effect`` is NoSchedule, NoExecute or PreferNoSchedule."""

    key: str
    value: str
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyCost:
    """What a stack costs per hour in US dollars; None where a part of it is not known. ``parts``: a line for each part."""

    usd_per_hour: float | None
    parts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As an output of a stack: without ``usd_per_hour`` it is not known."""
        known = {} if self.usd_per_hour is None else {"usd_per_hour": self.usd_per_hour}
        return {**known, "parts": list(self.parts)}
