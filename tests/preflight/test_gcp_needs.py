"""What a preflight asks a project for is what Google's own provider sends for the same sample."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware import gcp_machines
from gpufabric.hardware.quotas import gcp_disk_quota, gcp_gpu_quotas
from gpufabric.plan.gcp import GcpStackPlan, resolve_gcp
from gpufabric.preflight.gcp_project import apis_of
from gpufabric.preflight.gcp_quotas import gpu_demand, network_demand
from gpufabric.spec import read_stack_file
from gpufabric.spec.gcp import GcpTrainingSpec
from tests.kubernetes.stack_plans import samples
from tools.samples.plans import RECORDED

SAMPLES = {path.name.split(".")[1]: path for path in samples("gcp")}
every_sample = pytest.mark.parametrize("sample", SAMPLES)


def plan_of(sample: str) -> GcpStackPlan:
    spec = read_stack_file(SAMPLES[sample]).spec
    assert isinstance(spec, GcpTrainingSpec)
    return resolve_gcp(spec, sample, now=datetime(2026, 12, 1, tzinfo=UTC))


def requests_of(sample: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RECORDED / f"{sample}.json").read_text("utf-8"))["requests"]
    return found


@every_sample
def test_the_apis_are_those_that_the_provider_calls(sample: str) -> None:
    called = {each["service"] for each in requests_of(sample)}
    assert set(apis_of(plan_of(sample))) == {"compute", *called}, "GKE has the machines from Compute Engine in any case"


@every_sample
def test_the_networks_are_those_that_the_provider_makes(sample: str) -> None:
    made = Counter(Path(each["path"]).name for each in requests_of(sample) if each["method"] == "POST")
    wanted = network_demand(plan_of(sample))
    assert wanted == {metric: made[metric.lower()] for metric in wanted}


def test_gpus_count_by_how_they_are_had() -> None:
    assert gpu_demand(plan_of("gcp-a3-mega")) == {("GPUS-PER-GPU-FAMILY-per-project-region", "NVIDIA_H100_MEGA"): 16}
    assert gpu_demand(plan_of("gcp-a4-flex-start")) == {("PREEMPTIBLE-NVIDIA-B200-GPUS-per-project-region", ""): 32}
    assert gpu_demand(plan_of("gcp-a4")) == {}, "a reservation counted when it was made"


def test_every_machine_that_is_built_has_its_quotas() -> None:
    for machine in gcp_machines().values():
        if not machine.refusal:
            assert machine.accelerator_type in gcp_gpu_quotas()
            assert all(gcp_disk_quota(kind) for kind in machine.boot_disk_types)
