"""The components as other languages see them: the SDK's analyzer takes them, and a hosted call builds the same."""

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from gpufabric.aws import AwsTrainingStack
from gpufabric.hosted import ROOMS, installed_components
from gpufabric.kubernetes import NcclValidation
from gpufabric.spec import SpecError
from tests.aws.cloud import COMPUTED
from tests.kubernetes.golden import same_as_golden
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.plan.aws.wishes import P5
from tests.spec.specs import CPU, H100


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.title() for word in rest)


COMPONENTS = installed_components()
PUBLIC = {name for room in ROOMS for name in import_module(f"gpufabric.{room}").__all__}


def provider() -> ComponentProvider:
    return ComponentProvider(list(COMPONENTS), "gpufabric")


def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(provider().schema or "")
    return found


def test_a_room_without_its_sdk_is_not_hosted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpufabric.hosted.find_spec", lambda sdk: None if sdk == "pulumi_aws" else find_spec(sdk))
    found = {component.__name__ for component in installed_components()}
    assert "NcclValidation" in found
    assert "EksCluster" not in found


def test_the_analyzer_takes_every_component() -> None:
    found = Analyzer("gpufabric").analyze(list(COMPONENTS))["component_definitions"]
    assert found.keys() == PUBLIC


def test_everything_that_other_languages_see_is_described() -> None:
    """Keys of a base class, too."""
    found = schema()
    described = {
        f"{token}.{key}": each.get("description")
        for token, one in {**found["resources"], **found["types"]}.items()
        for kind in ("inputProperties", "properties")
        for key, each in one.get(kind, {}).items()
    } | {token: one.get("description") for token, one in {**found["resources"], **found["types"]}.items()}
    assert len(described) > 300
    assert [name for name, text in described.items() if not text] == []
    bucket = found["resources"]["gpufabric:index:CachedMount"]["inputProperties"]["bucket"]
    assert bucket["description"] == "What is mounted."


def test_the_schema_is_the_golden_one() -> None:
    same_as_golden("schema.json", json.dumps(schema(), indent=1, sort_keys=True) + "\n")


def camel(value: Any, *, words: bool = True) -> Any:
    """Args as another language sends them: keys in camelCase (labels and variables are data), numbers as floats."""
    if isinstance(value, dict):
        data = {"node_selector", "environment", "resources"}
        return {_camel(key) if words else key: camel(each, words=words and key not in data) for key, each in value.items()}
    if isinstance(value, list):
        return [camel(each, words=words) for each in value]
    return float(value) if type(value) is int else value


def construct(kind: str, inputs: dict[str, Any], recording: Recording | None = None) -> Recording:
    return run(lambda: provider().construct("gate", f"gpufabric:index:{kind}", inputs), recording=recording)


def inputs_of(recording: Recording) -> dict[str, str]:
    return {each.label: json.dumps(each.inputs, sort_keys=True) for each in recording.resources}


GATE = {"node_group": H100["node_groups"][0], "validation": {**H100["validation"], "run": 2, "nodes_minutes": 3}}


def test_a_hosted_component_builds_what_a_python_program_builds() -> None:
    """Pulumi sends every number as a float: ``nodes`` comes as 2.0."""
    hosted, own = construct("NcclValidation", camel(GATE)), run(lambda: NcclValidation("gate", GATE))  # type: ignore[arg-type]
    inputs = [
        sorted((each.label, json.dumps(each.inputs, sort_keys=True)) for each in each.resources) for each in (hosted, own)
    ]
    assert inputs[0] == inputs[1]
    assert len(inputs[0]) == 13


def test_a_hosted_node_group_and_stack() -> None:
    group = construct("KubernetesNodeGroup", camel(CPU["node_groups"][0]))
    assert group.one("KubernetesNodeGroup").outputs == {
        "profile": {
            "admission": {"nodeSelector": {"pool": "train", "gpufabric.dev/validated": "pass"}},
            "fabric": {
                "resources": {},
                "environment": {},
                "capabilities": [],
                "sharedMemory": False,
                "annotations": {},
                "tolerations": [],
            },
        }
    }
    stack = construct("KubernetesTrainingStack", camel({"node_groups": CPU["node_groups"], "validation": CPU["validation"]}))
    assert [each.name for each in stack.of("Job")] == ["gate-train-job"]


def test_a_hosted_wish_that_is_wrong_says_so_before_anything_is_registered() -> None:
    recording = Recording()
    bad = camel({**GATE, "node_group": {**GATE["node_group"], "nodes": 2.5, "fabric": "infinband"}})
    with pytest.raises((SpecError, ComponentInitError)) as caught:
        construct("NcclValidation", bad, recording)
    error = caught.value.__cause__ or caught.value
    assert "gate.node_group.nodes: expected a whole number, found 2.5" in str(error)
    assert recording.resources == []


def test_types_are_identity() -> None:
    """A token is in every state file: it never changes."""
    assert set(schema()["resources"]) == {f"gpufabric:index:{name}" for name in PUBLIC}
    assert {
        *("AwsNetwork", "AwsTrainingStack", "EksCluster", "EksGpuNodeGroup", "FsxLustre"),
        *("MountpointDriver", "S3Bucket"),
        *("FabricDaemons", "FabricGate", "JobQueue", "KubernetesNodeGroup", "KubernetesTrainingStack", "NcclValidation"),
        "NodeHealthCheck",
    } <= PUBLIC
    for component in COMPONENTS:
        assert issubclass(component, pulumi.ComponentResource)


def test_a_hosted_component_of_aws_checks_and_builds() -> None:
    """Ids may be Outputs, numbers are floats."""
    made = construct("AwsNetwork", {"zone": "us-east-2b", "gpuNodes": 4.0, "gpuCidr": "10.1.0.0/16"})
    assert {each.inputs["cidrBlock"] for each in made.of("Subnet")} >= {"10.1.0.0/16"}
    recording = Recording()
    with pytest.raises((SpecError, ComponentInitError)) as caught:
        construct("AwsNetwork", {"zone": "us-east-2", "gpuNodes": 4.5}, recording)
    error = caught.value.__cause__ or caught.value
    assert "gate.zone: 'us-east-2' is not the name of an availability zone" in str(error)
    assert "gate.gpu_nodes: expected a whole number, found 4.5" in str(error)
    assert recording.resources == []


def test_a_hosted_stack_of_aws_builds_what_a_python_program_builds() -> None:
    """Names of buckets, file systems and tags are data: they keep their spelling."""
    args: Any = {key: value for key, value in P5.items() if key != "cloud"}
    args |= {"tags": {"cost_center": "ml"}, "stores": {"my_weights": {"name": "acme-weights"}}}
    args |= {"filesystems": {"data": {"size_gib": 19200, "protect": False}}}
    inputs = camel(args) | {"tags": args["tags"], "stores": args["stores"]}
    name = "gpufabric:index:AwsTrainingStack"
    cloud: dict[str, Any] = {"computed": COMPUTED, "cluster": verdicts()}
    hosted = run(lambda: provider().construct("gate", name, inputs), **cloud)
    own = run(lambda: AwsTrainingStack("gate", args), **cloud)
    assert inputs_of(hosted) == inputs_of(own)
    assert hosted.one("Bucket").inputs["bucket"] == "acme-weights"
    assert hosted.one("Vpc").inputs["tags"]["cost_center"] == "ml"
