"""What stage 0 holds a node against: the `health` section of gate.json. The plan fills it from the tables.

Without the section (a plan of an older version) stage 0 does not run and claims nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gpufabric.validation.reader import Reader

FATAL: Final = "fatal"
WARNING: Final = "warning"
NOTE: Final = "note"
NOT_CHECKED: Final = "not checked"
SEVERITIES: Final = (FATAL, WARNING, NOTE)

GPU_CHECKS: Final = (
    *("gpu_driver", "gpu_count", "nvlink", "ecc", "rows_pending", "rows_failure", "throttle", "recovery", "xid", "pcie"),
    *("persistence", "dcgm"),
)
RDMA_CHECKS: Final = ("hca_count", "hca_state", "hca_rate", "rdma_device", "memlock")
CHECKS: Final = (*GPU_CHECKS, *RDMA_CHECKS, "shm", "hugepages", "interface")
"""All checks by name; each has a row in the table (hardware/data/health.toml)."""


@dataclass(frozen=True)
class Rule:
    """What a bad result means and what to do. `severity`: fatal | warning | note."""

    severity: str
    fix: str


@dataclass(frozen=True)
class Xid:
    """What an XID means. `severity` as in Rule; `ignore` for those that say nothing about the node."""

    severity: str
    action: str


@dataclass(frozen=True)
class Health:
    """The wish of one node. 0 and empty: not asked for, or nothing is known to hold the reading against.

    `hcas`: NCCL_IB_HCA's words (a name or prefix; `=` exact, `^` all others); any of them means RDMA. `shm_mib`,
    `hugepages_mib`: least sizes. `hca_gbits_per_s`: least rate of every port. `xids`: by code.
    `dcgm_level`: of dcgmi diag; `dcgm_more_s`: what it may take beyond the minute of all readings.
    """

    interface: str
    gpus: int = 0
    nvlinks_per_gpu: int = 0
    hcas: tuple[str, ...] = ()
    hcas_per_node: int = 0
    hca_gbits_per_s: int = 0
    shm_mib: int = 0
    hugepages_mib: int = 0
    ecc_most_errors: int = 0
    xid_window_s: int = 0
    rules: Mapping[str, Rule] = field(default_factory=dict)
    xids: Mapping[str, Xid] = field(default_factory=dict)
    dcgm_level: int = 1
    dcgm_more_s: int = 0

    @property
    def wanted(self) -> tuple[str, ...]:
        """The checks that apply to this wish: each ends as passed or as a finding."""
        out = list(GPU_CHECKS) if self.gpus else []
        if self.hcas:
            out += RDMA_CHECKS
        asked = {"shm": self.shm_mib, "hugepages": self.hugepages_mib, "interface": self.interface}
        return (*out, *(name for name, value in asked.items() if value))

    def rule(self, check: str) -> Rule:
        """The rule of a check; a check without one is fatal."""
        return self.rules.get(check) or Rule(FATAL, "look at the node")

    def without_advice(self) -> "Health":
        """What decides, without the words: another wording of an advice is no other wish."""
        rules = {name: replace(rule, fix="") for name, rule in self.rules.items()}
        return replace(self, rules=rules, xids={code: replace(xid, action="") for code, xid in self.xids.items()})

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `read` reads back to an equal Health."""
        out = {**self.__dict__, "hcas": list(self.hcas)}
        for part in ("rules", "xids"):
            out[part] = {name: dict(each.__dict__) for name, each in out[part].items()}
        return out


_NUMBERS: Final = tuple(name for name, each in Health.__dataclass_fields__.items() if each.type is int)


def read(reader: Reader, raw: Mapping[str, Any]) -> Health:
    """The section of gate.json; problems are added to the reader's."""
    at = "health."
    reader.problems += [f"{at}{key}: unknown key" for key in sorted(set(raw) - set(Health.__dataclass_fields__))]
    hcas = reader.take(raw, "hcas", list, at) if "hcas" in raw else []
    return Health(
        interface=reader.text(raw, "interface", at),
        hcas=tuple(str(each) for each in hcas or []),
        **{name: reader.number(raw, name, at, least=0) for name in _NUMBERS if name in raw},
        rules={name: Rule(*pair) for name, pair in _pairs(reader, raw, "rules", "fix")},
        xids={name: Xid(*pair) for name, pair in _pairs(reader, raw, "xids", "action")},
    )


def _pairs(reader: Reader, raw: Mapping[str, Any], key: str, second: str) -> list[tuple[str, tuple[str, str]]]:
    part = (reader.take(raw, key, dict, "health.") or {}) if key in raw else {}
    out = []
    for name in part:
        at = f"health.{key}."
        each = reader.take(part, name, dict, at) or {}
        severity = reader.text(each, "severity", f"{at}{name}.")
        if severity not in (*SEVERITIES, "ignore", ""):
            reader.problems.append(f"{at}{name}.severity: {severity!r} is not one of {', '.join(SEVERITIES)}, ignore")
        out.append((name, (severity, reader.text(each, second, f"{at}{name}."))))
    return out
