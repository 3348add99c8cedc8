"""Stage 0: whether this node may take part, before any network run. health.sh reads, the judge beside it decides here.

Every check that the wish calls for ends as passed or as a finding. What cannot be read is `not checked`: it does not keep the
node out, since the network run is still to come, but it is counted and said, and never passes.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpufabric.validation import gate_json, health_gpu, health_host, health_load, health_readings, health_values
from gpufabric.validation.health_readings import Readings
from gpufabric.validation.health_report import Report
from gpufabric.validation.health_wish import Health
from gpufabric.validation.measurement import Measurement

CHECKS: Final[Mapping[str, health_values.Check]] = {
    "gpu_driver": health_gpu.driver,
    "gpu_count": health_gpu.count,
    "nvlink": health_gpu.nvlink,
    "ecc": health_gpu.ecc,
    "rows_pending": health_gpu.rows_pending,
    "rows_failure": health_gpu.rows_failure,
    "throttle": health_load.idle_throttle,
    "recovery": health_gpu.recovery,
    "xid": health_gpu.xid,
    "pcie": health_load.idle_pcie,
    "persistence": health_gpu.persistence,
    "dcgm": health_gpu.dcgm,
    "hca_count": health_host.hca_count,
    "hca_state": health_host.hca_state,
    "hca_rate": health_host.hca_rate,
    "rdma_device": health_host.rdma_device,
    "memlock": health_host.memlock,
    "shm": health_host.shm,
    "hugepages": health_host.hugepages,
    "interface": health_host.interface,
}
_PATIENCE_SECONDS: Final = 75.0
"""After health.sh began: its own limit of 60 s (more for a high level of dcgmi), and some. Then what is there is judged."""


def examine(wish: Health, readings: Readings) -> Report:
    """Hold a node's readings against the wish. Never raises, whatever the texts."""
    return health_values.examine({name: CHECKS[name] for name in wish.wanted}, wish, readings)


class Watch:
    """Waits for the readings of the rank container beside us, without blocking."""

    def __init__(self, shared: Path, wish: Health | None) -> None:
        self.folder, self.wish = shared / "health", wish
        self.report = Report() if wish is None else None
        self.begun_at: float | None = None

    @staticmethod
    def of(shared: Path, plan: Path) -> "Watch":
        """By gate.json's wish. A plan that cannot be read holds no node to anything: the judge's verdict says so."""
        try:
            return Watch(shared, gate_json.parse(plan.read_text("utf-8")).health)
        except (OSError, ValueError):
            return Watch(shared, None)

    def measurement(self, report: Report) -> Measurement:
        """What a judge leaves that has no benchmark to judge: fail for a sick node, pass for one that may take part."""
        if report.fatal:
            reason = "; ".join(f"{each.check}: {each.measured}" for each in report.fatal)
            return Measurement("fail", reason, "health", health=report)
        return Measurement("pass", "the node may take part", health=report if self.wish else None)

    def look(self) -> Report | None:
        """The report once the readings are complete, or have had their time; None before."""
        if self.report is None and self.wish is not None and self._over():
            self.report = examine(self.wish, health_readings.load(self.folder))
        return self.report

    def _over(self) -> bool:
        if (self.folder / "done").exists():
            return True
        if self.begun_at is None and (self.folder / "begun").exists():
            self.begun_at = time.monotonic()
        patience_s = _PATIENCE_SECONDS + (self.wish.dcgm_more_s if self.wish else 0)
        return self.begun_at is not None and time.monotonic() - self.begun_at >= patience_s
