"""The components under mocks: who is whose child, in which order, with which options; and that a wrong wish makes nothing."""

import json
import re
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_kubernetes import Provider
from pulumi_kubernetes.batch.v1 import Job

from gpufabric.kubernetes import KubernetesNodeGroup, KubernetesTrainingStack, NcclValidation
from gpufabric.kubernetes.nccl_validation import gate_plan
from gpufabric.validation import contract, gate_json, permissions
from tests.kubernetes.mocked import VERDICT, Recording, Registered, run, verdicts
from tests.kubernetes.refused import refused
from tests.spec.specs import CPU, H100

GROUP = H100["node_groups"][0]
OTHER = {**GROUP, "name": "other", "node_selector": {"pool": "other"}}
GATE: Any = {"node_group": GROUP, "validation": H100["validation"]}
STACK: Any = {"node_groups": [GROUP, OTHER], "validation": H100["validation"]}
OF_TWO = verdicts("gpufabric-dev-train/train-verdict", "gpufabric-dev-other/other-verdict")
MAKE: dict[str, Callable[..., ComponentResource]] = {
    "NcclValidation": lambda **opts: NcclValidation("gate", GATE, **opts),
    "KubernetesNodeGroup": lambda **opts: KubernetesNodeGroup("gate", GROUP, **opts),
    "KubernetesTrainingStack": lambda **opts: KubernetesTrainingStack("gate", STACK, **opts),
}
every_component = pytest.mark.parametrize("kind", list(MAKE))
CHILDREN = {
    "gate-account": "kubernetes:core/v1:ServiceAccount",
    "gate-cluster-role": "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
    "gate-cluster-role-binding": "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
    "gate-job": "kubernetes:batch/v1:Job",
    "gate-namespace": "kubernetes:core/v1:Namespace",
    "gate-network-policy": "kubernetes:networking.k8s.io/v1:NetworkPolicy",
    "gate-plan": "kubernetes:core/v1:ConfigMap",
    "gate-programs": "kubernetes:core/v1:ConfigMap",
    "gate-ranks": "kubernetes:core/v1:Service",
    "gate-role": "kubernetes:rbac.authorization.k8s.io/v1:Role",
    "gate-role-binding": "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
    "gate-verdict": "kubernetes:core/v1:ConfigMap",
}


def made(kind: str, **opts: Any) -> Recording:
    return run(lambda: MAKE[kind](**opts), cluster=OF_TWO)


def children(recording: Recording, of: str) -> list[Registered]:
    return [each for each in recording.resources if each.parent == of]


def test_the_children_of_a_gate() -> None:
    recording = made("NcclValidation")
    component = recording.one("NcclValidation")
    assert (component.type, component.parent) == ("gpufabric:index:NcclValidation", "")
    assert {each.name: each.type for each in children(recording, component.label)} == CHILDREN
    assert len(recording.resources) == 1 + len(CHILDREN)
    assert [each.name for each in recording.resources if each.read] == ["gate-verdict"]


def test_a_node_group_makes_nothing_in_the_cluster() -> None:
    recording = made("KubernetesNodeGroup")
    assert [each.label for each in recording.resources] == ["gpufabric:index:KubernetesNodeGroup gate"]


def test_the_children_of_a_stack() -> None:
    recording = made("KubernetesTrainingStack")
    stack = recording.one("KubernetesTrainingStack")
    assert {each.label for each in children(recording, stack.label)} == {
        f"gpufabric:index:{kind} gate-{group}"
        for kind in ("KubernetesNodeGroup", "NcclValidation")
        for group in ("train", "other")
    }
    assert len(recording.of("Job")) == 2


@every_component
def test_every_child_is_named_after_its_component_and_every_component_registers_outputs(kind: str) -> None:
    recording = made(kind)
    for each in recording.resources:
        assert each.name == "gate" if not each.parent else each.name.startswith(f"{each.parent.split()[-1]}")
        assert (each.outputs is not None) == each.type.startswith("gpufabric:"), each.label
        assert each.outputs != {}


@every_component
@pytest.mark.parametrize("way", ["provider", "providers", "parent"])
def test_the_provider_is_inherited_by_every_child(kind: str, way: str) -> None:
    def program() -> None:
        cluster = Provider("mine", context="c")
        if way == "parent":
            outer = ComponentResource("acme:index:Outer", "outer", None, ResourceOptions(providers=[cluster]))
            MAKE[kind](opts=ResourceOptions(parent=outer))
        else:
            MAKE[kind](opts=ResourceOptions(provider=cluster) if way == "provider" else ResourceOptions(providers=[cluster]))

    recording = run(program, cluster=OF_TWO)
    used = {each.provider for each in recording.resources if each.type.startswith("kubernetes:")}
    assert used == (set() if kind == "KubernetesNodeGroup" else {"pulumi:providers:kubernetes mine"})
    if way == "parent":
        assert [each.label for each in children(recording, "acme:index:Outer outer")] == [f"gpufabric:index:{kind} gate"]


@every_component
def test_the_callers_options_stay_with_the_component(kind: str) -> None:
    plain = {each.label: each.options for each in made(kind).resources}
    given = made(
        kind, opts=ResourceOptions(aliases=[pulumi.Alias(name="old")], retain_on_delete=True, delete_before_replace=True)
    )
    component = given.one(kind)
    assert [each["spec"]["name"] for each in component.options["aliases"]] == ["old"]
    assert component.options["retainOnDelete"] is True
    changed = {each.label for each in given.resources if each.options != plain[each.label]}
    # An alias of a component goes on to its children: that is what keeps their identity. No other option does.
    assert changed - {component.label} == {
        each.label for each in given.resources if each.parent and each.options.keys() - plain[each.label].keys() == {"aliases"}
    }


STACK_KEYS = "known keys: node_groups, validation, scheduler, stores, filesystems, storage, local_nvme"
BAD: dict[str, tuple[type[ComponentResource], Any, list[str]]] = {
    "a gate, wrong in shape": (
        NcclValidation,
        {
            "node_group": {**GROUP, "nodes": "2"},
            "validation": {"backend": 3},
            "namespce": "x",
            "groups": [{"name": "a", "node_selector": {"a": "b"}, "accelerators": "cpu"}],
        },
        [
            "gate.node_group.nodes: expected a whole number, found '2'; write digits without quotes, such as 2",
            "gate.validation.backend: 3 is not a choice here; write nccl, mpi or torch",
            "gate.groups[0].nodes: missing; this key is required",
            "gate.namespce: unknown key; did you mean namespace?",
        ],
    ),
    "a gate, wrong in meaning": (
        NcclValidation,
        {"node_group": {**GROUP, "fabric": "infinband"}, "validation": {}},
        [
            (
                "gate.node_group.fabric: unknown fabric 'infinband' (did you mean 'infiniband'?); known: ethernet, "
                "ethernet-runpod, infiniband, infiniband-together; write one of these, or give an explicit profile"
            ),
            (
                "gate.validation.image: missing: coordinator and judge run in it; "
                "name the gate's image (python3 -m tools.image howto says how to build one and load or push it)"
            ),
        ],
    ),
    "a gate with nothing": (
        NcclValidation,
        {},
        ["gate.node_group: missing; this key is required", "gate.validation: missing; this key is required"],
    ),
    "a gate with no args": (
        NcclValidation,
        None,
        ["gate: expected a mapping, found nothing; known keys: node_group, validation, namespace, groups"],
    ),
    "a group": (
        KubernetesNodeGroup,
        {**GROUP, "accelerators": "H100:16", "network_tier": "standard"},
        [
            (
                "gate.accelerators: 16 x H100 per node; a node holds at most 8; write H100:8 and more nodes "
                "(vendor, NVIDIA H100 data sheet; nvidia device plugin README (resource name), 2026-11)"
            ),
            "gate.network_tier: standard asks for ordinary Ethernet; infiniband is RDMA; write best, or fabric: ethernet",
        ],
    ),
    "a stack, wrong in shape": (
        KubernetesTrainingStack,
        {**STACK, "cluster": {"existing": {"context": "c"}}, "cloud": "aws"},
        [
            f"gate.cluster: unknown key; {STACK_KEYS}",
            f"gate.cloud: unknown key; {STACK_KEYS}",
        ],
    ),
    "a stack, wrong in meaning": (
        KubernetesTrainingStack,
        {**STACK, "node_groups": [GROUP, {**OTHER, "node_selector": {"pool": "train"}}]},
        [
            (
                "gate.node_groups[1].node_selector: a node can match this and node_groups[0] (train); "
                "give both one label key with different values"
            )
        ],
    ),
    "a stack with no args": (
        KubernetesTrainingStack,
        None,
        [f"gate: expected a mapping, found nothing; {STACK_KEYS}"],
    ),
}


def refusal(component: Any, args: Any) -> list[str]:
    """What a component says to args that it refuses."""
    return refused(lambda recording: run(lambda: component("gate", args() if callable(args) else args), recording=recording))


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_says_all_and_registers_nothing(case: str) -> None:
    component, args, lines = BAD[case]
    assert refusal(component, args) == lines


def test_an_output_where_the_topology_is_decided_is_refused() -> None:
    def args() -> dict[str, Any]:
        return {**GATE, "node_group": {**GROUP, "nodes": Output.from_input(2)}}

    says = "gate.node_group.nodes: expected a whole number, found a Python object of type Output"
    assert refusal(NcclValidation, args) == [f"{says}; write digits without quotes, such as 2"]


def gates(args: Any = GATE, **how: Any) -> tuple[Recording, dict[str, Any]]:
    """A gate and its outputs, as a stack exports them."""

    def program() -> None:
        gate = NcclValidation("gate", args)
        pulumi.export("verdict", gate.verdict)
        pulumi.export("namespace", gate.namespace)

    recording = run(program, **how)
    return recording, recording.outputs


def test_the_verdict_is_read_from_the_coordinators_config_map() -> None:
    recording, outputs = gates()
    assert outputs == {"verdict": VERDICT, "namespace": "gpufabric-dev-train"}
    read = recording.one("ConfigMap", "gate-verdict")
    assert read.read == "gpufabric-dev-train/train-verdict"
    assert read.options["dependencies"] == ["kubernetes:batch/v1:Job gate-job"]


@pytest.mark.parametrize("data", [None, {}, {"other": "x"}])
def test_a_config_map_without_verdict_is_no_verdict(data: dict[str, str] | None) -> None:
    held = {"gpufabric-dev-train/train-verdict": {} if data is None else {"data": data}}
    assert gates(cluster=held)[1]["verdict"] == {}


def test_a_preview_does_not_look_for_a_verdict_that_is_not_there_yet() -> None:
    recording, outputs = gates(preview=True, cluster={})
    assert recording.one("ConfigMap", "gate-verdict").read == "(not known yet)"
    assert outputs == {"namespace": "gpufabric-dev-train", "verdict": UNKNOWN}
    assert len(recording.of("Job")) == 1, "all that will be made shows in the preview"


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # how the SDK writes a value that is not known yet


def test_a_stack_gives_profile_and_verdict_of_every_group() -> None:
    def program() -> None:
        stack = KubernetesTrainingStack("prod", STACK)
        pulumi.export("profiles", stack.pod_profiles)
        pulumi.export("validation", stack.validation)
        assert stack.groups.keys() == stack.gates.keys() == {"train", "other"}

    outputs = run(program, cluster=OF_TWO).outputs
    assert outputs["validation"] == {"train": VERDICT, "other": VERDICT}
    assert {name: each["admission"]["nodeSelector"]["pool"] for name, each in outputs["profiles"].items()} == {
        "train": "train",
        "other": "other",
    }


def test_the_job_is_run_again_for_every_change_and_never_beside_its_predecessor() -> None:
    recording, _ = gates()
    job = recording.one("Job")
    plan = plan_now()
    assert job.options["deleteBeforeReplace"] is True
    assert job.options["replaceOnChanges"] == ["*"]
    assert job.options["replacementTrigger"] == plan.trigger
    seconds = f"{plan.deadlines.resource_s}s"
    assert job.options["customTimeouts"] == {"create": seconds, "update": seconds}
    before = {each.label for each in children(recording, job.parent)} - {job.label}
    before -= {"kubernetes:core/v1:ConfigMap gate-verdict", "kubernetes:core/v1:Namespace gate-namespace"}
    assert set(job.options["dependencies"]) == before, "the coordinator finds all it needs, and is deleted first"


def plan_now() -> Any:
    plans: list[Any] = []
    run(lambda: plans.append(gate_plan(NcclValidation("gate", GATE))))
    return plans[0]


def test_what_lives_in_the_namespace_waits_for_it() -> None:
    recording, _ = gates()
    namespaced = [each for each in recording.resources if "namespace" in each.inputs.get("metadata", {})]
    assert len(namespaced) == 8
    for each in namespaced:
        assert each.inputs["metadata"]["namespace"] == "gpufabric-dev-train"
        namespace, accounts = "kubernetes:core/v1:Namespace gate-namespace", "kubernetes:core/v1:ServiceAccount gate-account"
        assert {namespace, accounts} & set(each.options["dependencies"]), each.label


def test_a_given_namespace_is_used_and_not_made() -> None:
    recording, outputs = gates({**GATE, "namespace": "ml"}, cluster=verdicts("ml/train-verdict"))
    assert outputs["namespace"] == "ml"
    assert recording.of("Namespace") == []
    assert {each.inputs["metadata"]["namespace"] for each in recording.of("ConfigMap") if not each.read} == {"ml"}
    assert recording.one("ClusterRole").inputs["metadata"]["name"] == "gpufabric-dev-train"
    assert "dependencies" not in recording.one("Role").options


def test_everything_that_is_named_exists() -> None:
    recording, _ = gates()
    names = {kind: {each.inputs["metadata"]["name"] for each in recording.of(kind) if not each.read} for kind in KINDS}
    pod = recording.one("Job").inputs["spec"]["template"]["spec"]
    assert {pod["serviceAccountName"]} == names["ServiceAccount"]
    assert {each["configMap"]["name"] for each in pod["volumes"]} == names["ConfigMap"]
    gate = json.loads(recording.one("ConfigMap", "gate-plan").inputs["data"]["gate.json"])
    assert {gate["names"]["coordinator_job"]} == names["Job"]
    assert {gate["names"]["service"], gate["rank_job"]["spec"]["template"]["spec"]["subdomain"]} == names["Service"]
    for binding, role in (("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")):
        found = recording.one(binding).inputs
        assert {found["roleRef"]["name"]} == names[role]
        assert found["roleRef"]["kind"] == role
        assert found["subjects"] == [
            {"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "gpufabric-dev-train"}
        ]


KINDS = ("ServiceAccount", "ConfigMap", "Job", "Service", "Role", "ClusterRole")


def test_service_and_network_policy_select_the_pods_of_the_gate() -> None:
    recording, _ = gates()
    gate = json.loads(recording.one("ConfigMap", "gate-plan").inputs["data"]["gate.json"])
    ranks = gate["rank_job"]["spec"]["template"]["metadata"]["labels"]
    coordinator = recording.one("Job").inputs["spec"]["template"]["metadata"]["labels"]
    service = recording.one("Service").inputs["spec"]
    assert service["selector"].items() <= ranks.items()
    assert not service["selector"].items() <= coordinator.items()
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    policy = recording.one("NetworkPolicy").inputs["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert rule == {"from": [{"podSelector": policy["podSelector"]}]}
    assert policy["podSelector"]["matchLabels"].items() <= ranks.items() & coordinator.items()


def test_the_coordinator_may_do_what_the_contract_says_and_no_more() -> None:
    recording, _ = gates()
    of_namespace, of_cluster = permissions.coordinator_in_namespace("train-verdict"), permissions.coordinator_in_cluster(1)
    assert recording.one("Role").inputs["rules"] == of_namespace
    assert recording.one("ClusterRole").inputs["rules"] == of_cluster
    assert "pods/eviction" not in str(of_cluster), "nothing can have raised `run` yet"
    assert [rule for rule in permissions.coordinator_in_cluster(2) if rule not in of_cluster] == [
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
    ]
    for rule in [*of_namespace, *of_cluster]:
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        assert "secrets" not in rule["resources"]


SECRET = re.compile(
    r"-----BEGIN|BEGIN [A-Z ]*PRIVATE KEY|Bearer [A-Za-z0-9]|AKIA[A-Z0-9]{12}|gh[pousr]_[A-Za-z0-9]{20}|eyJ[A-Za-z0-9_-]{20}|"
    r"(?i:password|passwd|secret_?key|api_?key|token)['\"]?\s*[:=]\s*['\"]?[A-Za-z0-9+/]{8}"
)


@pytest.mark.parametrize("spec", [CPU, H100], ids=["cpu", "h100"])
def test_no_config_map_holds_a_secret_and_none_is_too_large(spec: Any) -> None:
    args: Any = {key: spec[key] for key in ("node_groups", "validation")}
    recording = run(lambda: KubernetesTrainingStack("gate", args))
    maps = [each for each in recording.of("ConfigMap") if not each.read]
    assert len(maps) == 2
    for each in maps:
        for name, text in each.inputs["data"].items():
            assert not SECRET.search(text), f"{each.name}: {name}: {SECRET.search(text)}"
        assert len(json.dumps(each.inputs).encode()) < 1 << 20, "an API server refuses larger ones"
    assert recording.of("Secret") == []


@pytest.mark.parametrize(
    "text",
    ["-----BEGIN OPENSSH PRIVATE KEY-----", "Authorization: Bearer abc", "password: hunter2hunter2", 'token="abcdefghij"'],
)
def test_the_search_for_secrets_finds_some(text: str) -> None:
    assert SECRET.search(text)


def test_the_programs_are_those_of_the_contract_and_the_plan_is_read_back() -> None:
    recording, _ = gates()
    assert recording.one("ConfigMap", "gate-programs").inputs["data"] == contract.shipped_files()
    text = recording.one("ConfigMap", "gate-plan").inputs["data"]["gate.json"]
    assert gate_json.parse(text) == plan_now().gate


CAMEL = {
    "completions": 2,
    "template": {
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": {"zone": "a"},
            "containers": [{"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }
    },
}
SNAKE = {
    "completions": 2,
    "template": {
        "spec": {
            "restart_policy": "Never",
            "node_selector": {"zone": "a"},
            "containers": [{"name": "main", "volume_mounts": [{"name": "data", "mount_path": "/data"}]}],
            "volumes": [{"name": "data", "empty_dir": {}}],
        }
    },
}


def finetune(spec: dict[str, Any]) -> dict[str, Any]:
    """A job with the profile and an image that is known only later, as it goes over the wire."""

    def program() -> None:
        group = KubernetesNodeGroup("train", GROUP)
        image = Output.from_input("acme/train").apply(lambda name: f"{name}:1")
        spec["template"]["spec"]["containers"][0]["image"] = image
        merged = group.pod_profile.apply_to(spec)
        assert merged["template"]["spec"]["containers"][0]["image"] is image, "an Output passes by identity"
        Job("finetune", spec=merged)

    inputs: dict[str, Any] = run(program).one("Job").inputs["spec"]
    return inputs


def test_a_job_with_the_profile_is_the_same_in_both_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "true")  # an Output that is turned into a text raises
    camel, snake = finetune(CAMEL), finetune(SNAKE)
    assert camel == snake
    pod = camel["template"]["spec"]
    assert pod["nodeSelector"] == {"zone": "a", "pool": "train"}
    (container,) = pod["containers"]
    assert container["image"] == "acme/train:1"
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}}
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/data", "/dev/shm"]  # noqa: S108 - the pod's
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "gpufabric.dev/validated", "operator": "In", "values": ["pass"]}]}]


def test_a_job_that_depends_on_the_gate_waits_for_its_job() -> None:
    def program() -> None:
        gate = NcclValidation("gate", GATE)
        Job("finetune", spec=CAMEL, opts=ResourceOptions(depends_on=[gate]))

    job = run(program).one("Job", "finetune")
    assert "kubernetes:batch/v1:Job gate-job" in job.options["dependencies"]
