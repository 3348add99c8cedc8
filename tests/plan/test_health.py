"""Stage 0 in the plan: nodes are held to what their wish needs, and to nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from gpufabric.hardware.health import health_checks, xids
from gpufabric.validation import contract
from gpufabric.validation.health_wish import GPU_CHECKS, RDMA_CHECKS, Health
from tests.plan.test_gate import SPECS, every_spec
from tests.spec.specs import CPU, H100, changed, plan_of, problems


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


def test_the_user_has_the_last_word_on_how_bad_a_finding_is() -> None:
    own = {"hca_state": "warning", "xid-63": "fatal", "xid-13": "ignore", "xid-0999": "fatal"}
    wish = wish_of(changed(H100, validation__health=own))
    before = wish_of(H100)
    assert wish.rule("hca_state").severity == "warning"
    assert wish.rule("hca_state").fix == before.rule("hca_state").fix
    assert {code: wish.xids[code].severity for code in ("13", "63", "999", "79")} == {
        "13": "ignore",
        "63": "fatal",
        "999": "fatal",
        "79": "fatal",
    }
    assert (wish.xids["63"].action, wish.xids["999"].action) == (before.xids["63"].action, "severity given in the spec")
    assert wish.wanted == before.wanted, "nothing is left out"


def test_another_severity_is_validated_again() -> None:
    first, second = plan_of(H100), plan_of(changed(H100, validation__health={"hca_state": "warning"}))
    assert first.groups[0].gate.trigger != second.groups[0].gate.trigger


def test_another_wording_of_an_advice_is_not_validated_again() -> None:
    health = plan_of(H100).groups[0].gate.gate.health
    assert health is not None
    worded = replace(health, rules={name: replace(rule, fix=rule.fix + "!") for name, rule in health.rules.items()})
    assert worded != health
    assert worded.without_advice() == health.without_advice()
    milder = replace(health, rules={**health.rules, "ecc": replace(health.rules["ecc"], severity="warning")})
    assert milder.without_advice() != health.without_advice()


@pytest.mark.parametrize(
    ("health", "says"),
    [
        ({"hca_states": "warning"}, "validation.health.hca_states: no check of stage 0 has this name; did you mean hca_state?"),
        ({"63": "fatal"}, 'validation.health["63"]: no check of stage 0 has this name; write xid-CODE or one of gpu_driver, '),
        ({"xid-": "fatal"}, "validation.health.xid-: no check of stage 0 has this name; "),
        ({"xid-\u0663": "fatal"}, 'validation.health["xid-\\u0663"]: no check of stage 0 has this name; '),
        (
            {"ecc": "ignore"},
            "validation.health.ecc: a check is never left out: nobody would know of the sick node; write warning",
        ),
        ({"ecc": "note"}, "validation.health.ecc: 'note' is not a choice here; write fatal, warning or ignore"),
    ],
)
def test_severities_that_cannot_be(health: dict[str, str], says: str) -> None:
    (problem,) = problems(changed(H100, validation__health=health))
    assert problem.startswith(says)


@pytest.mark.parametrize(("level", "more_s"), [(1, 0), (2, 660), (3, 1800)])
def test_a_higher_level_of_dcgm_has_its_time(level: int, more_s: int) -> None:
    spec = changed(H100, validation__dcgm_level=level)
    assert (wish_of(spec).dcgm_level, wish_of(spec).dcgm_more_s) == (level, more_s)
    gate, first = plan_of(spec).groups[0].gate, plan_of(H100).groups[0].gate
    assert gate.deadlines.judge_s == first.deadlines.judge_s + more_s
    assert gate.deadlines.rank_job_s == first.deadlines.rank_job_s + more_s
    assert gate.deadlines.coordinator_s == first.deadlines.coordinator_s + more_s, "pairs do without"
    container = gate.gate.rank_job["spec"]["template"]["spec"]["containers"][0]
    told = {each["name"]: each["value"] for each in container["env"] if each["name"].startswith("GATE_DCGM")}
    assert told == ({contract.ENV_DCGM_LEVEL: str(level), contract.ENV_DCGM_SECONDS: str(more_s)} if more_s else {})


def test_nodes_without_gpus_have_no_dcgm() -> None:
    spec = changed(CPU, validation__dcgm_level=3)
    assert wish_of(spec) == wish_of(CPU)


def test_other_levels_are_refused() -> None:
    assert "validation.dcgm_level" in "\n".join(problems(changed(H100, validation__dcgm_level=4)))
