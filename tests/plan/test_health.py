"""Stage 0 in the plan: nodes are held to what their wish needs, and to nothing else."""

from typing import Any

import pytest

from gpufabric.hardware.health import health_checks, xids
from gpufabric.validation.health_wish import GPU_CHECKS, RDMA_CHECKS, Health
from tests.plan.test_gate import SPECS, every_spec
from tests.spec.specs import changed, plan_of


def wish_of(spec: dict[str, Any]) -> Health:
    found = plan_of(spec).groups[0].gate.gate.health
    assert found is not None
    return found


@every_spec
def test_every_check_has_its_rule_and_every_gpu_node_the_xids(spec: dict[str, Any]) -> None:
    wish = wish_of(spec)
    assert set(wish.rules) == set(wish.wanted)
    for name, rule in wish.rules.items():
        assert (rule.severity, rule.fix) == (health_checks()[name].severity, health_checks()[name].fix)
    assert set(wish.xids) == ({str(code) for code in xids()} if wish.gpus else set())


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("cpu", ("interface",)),
        ("standard", (*GPU_CHECKS, "shm", "interface")),
        ("h100", (*GPU_CHECKS, *RDMA_CHECKS, "shm", "interface")),
        ("together", (*GPU_CHECKS, *RDMA_CHECKS, "shm", "interface")),
        ("explicit", (*GPU_CHECKS, *RDMA_CHECKS, "shm", "interface")),
    ],
)
def test_what_is_checked_where(name: str, checks: tuple[str, ...]) -> None:
    assert wish_of(SPECS[name]).wanted == checks


def test_eight_h100_on_infiniband() -> None:
    wish = wish_of(SPECS["h100"])
    assert (wish.gpus, wish.nvlinks_per_gpu, wish.shm_mib) == (8, 18, 1024)
    assert (wish.hcas, wish.hcas_per_node, wish.hca_gbits_per_s) == (("ibp",), 8, 400)
    assert (wish.ecc_most_errors, wish.xid_window_s, wish.interface) == (0, 7200, "eth0")


def test_a_machine_that_no_row_knows_is_held_to_what_the_user_said() -> None:
    wish = wish_of(SPECS["explicit"])
    assert (wish.hcas, wish.hcas_per_node, wish.hca_gbits_per_s) == (("mlx5_0", "mlx5_1"), 0, 0)
    assert wish.interface == "bond0"
    fewer = wish_of(changed(SPECS["h100"], group__accelerators="H100:4", validation__floor_gbytes_per_s=1))
    assert (fewer.gpus, fewer.hcas_per_node) == (4, 0), "a row is never stretched"
