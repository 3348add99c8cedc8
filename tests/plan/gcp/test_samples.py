"""The samples for Google Cloud: each is a good wish, and together they show every family and way to have machines."""

from functools import cache
from pathlib import Path

import pytest

from gpufabric.hardware import gcp_machines
from gpufabric.plan.gcp import GcpStackPlan, resolve_gcp
from gpufabric.spec import read_stack_file
from gpufabric.spec.gcp import GcpTrainingSpec
from tests.plan.cloud_wishes import NOW

STACKS = Path(__file__).parents[3] / "stacks"
# Machine, kind of capacity, fabric; whether it is compact, and how many networks of GPUs its nodes have.
SAMPLES = {
    "gcp-a3-high": ("a3-highgpu-8g", "on_demand", "gpudirect-tcpx", True, 4),
    "gcp-a3-mega": ("a3-megagpu-8g", "on_demand", "gpudirect-tcpxo", True, 8),
    "gcp-a3-mega-reservation": ("a3-megagpu-8g", "reservation", "gpudirect-tcpxo", True, 8),
    "gcp-a3-ultra": ("a3-ultragpu-8g", "on_demand", "gib", True, 9),
    "gcp-a3-ultra-queued": ("a3-ultragpu-8g", "queued", "gib", False, 9),
    "gcp-a4": ("a4-highgpu-8g", "reservation", "gib", False, 9),
    "gcp-a4-flex-start": ("a4-highgpu-8g", "flex_start", "gib", True, 9),
    "gcp-g2-standard-network": ("g2-standard-96", "spot", "ethernet", False, 0),
    "gcp-existing-network": ("a3-ultragpu-8g", "on_demand", "gib", True, 0),  # none is made: they exist
}
every_sample = pytest.mark.parametrize("name", SAMPLES)


@cache
def plan_of(name: str) -> GcpStackPlan:
    file = read_stack_file(STACKS / f"Pulumi.{name}.yaml")
    assert isinstance(file.spec, GcpTrainingSpec)
    return resolve_gcp(file.spec, file.stack, now=NOW)


def test_the_samples_are_these() -> None:
    assert {path.name.split(".")[1] for path in STACKS.glob("Pulumi.gcp-*.yaml")} == SAMPLES.keys()


@every_sample
def test_what_a_sample_shows(name: str) -> None:
    plan = plan_of(name)
    (group,), (gate,) = plan.node_groups, plan.groups
    machine, kind, fabric, compact, networks = SAMPLES[name]
    assert (group.machine.name, group.capacity.kind, gate.fabric.name, group.capacity.compact) == (
        machine,
        kind,
        fabric,
        compact,
    )
    assert sum(map(len, plan.parts.network.gpu.values())) == networks


def test_every_family_with_a_fabric_has_a_sample() -> None:
    shown = {machine for machine, *_ in SAMPLES.values()}
    assert {row.name for row in gcp_machines().values() if row.fabric and not row.refusal} <= shown


@every_sample
def test_two_nodes_need_no_floor_of_the_users(name: str) -> None:
    """A floor in a sample is where the table has none, and not where somebody would copy it over a better one."""
    (gate,) = plan_of(name).groups
    known = gate.nodes == 2 and gate.fabric.name != "ethernet"
    assert (gate.floor.source != "given in the spec") == known
