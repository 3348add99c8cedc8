"""Pods that claim their devices: the template of the claim is made where our own pods run."""

from typing import Any

import pytest

from gpufabric.kubernetes import NcclValidation, NodeHealthCheck
from tests.kubernetes.mocked import Recording, run
from tests.spec.specs import H100, IMAGE

ULTRA: Any = {
    **{key: value for key, value in H100["node_groups"][0].items() if key != "fabric"},
    "machine_type": "a3-ultragpu-8g",
    "accelerators": "H200:8",
}


def gate(**more: Any) -> Recording:
    args: Any = {"node_group": {**ULTRA, **more}, "validation": {"image": IMAGE, "floor_gbytes_per_s": 250}}
    return run(lambda: NcclValidation("gate", args))


def check(**more: Any) -> Recording:
    args: Any = {"node_group": {**ULTRA, **more}, "image": IMAGE}
    return run(lambda: NodeHealthCheck("gate", args))


@pytest.mark.parametrize("component", [gate, check], ids=["the gate", "the health check"])
def test_the_template_is_there_before_the_pods_that_name_it(component: Any) -> None:
    made = component(fabric_attachment="dranet")
    template = made.one("ResourceClaimTemplate", "gate-claim")
    assert template.type == "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
    (job,) = made.of("Job")
    assert template.inputs["metadata"]["namespace"] == job.inputs["metadata"]["namespace"]
    assert template.label in job.options["dependencies"]
    (request,) = template.inputs["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": 8}


@pytest.mark.parametrize("component", [gate, check], ids=["the gate", "the health check"])
def test_without_claims_there_is_no_template(component: Any) -> None:
    assert component().of("ResourceClaimTemplate") == []
