"""The controller as a component: where it stands, what it may do, and that a stack makes it only where it is asked to."""

import json
from typing import Any

import pulumi
import pytest

from gpufabric.kubernetes import FabricGate, KubernetesTrainingStack, NcclValidation
from gpufabric.spec import SpecError
from gpufabric.validation import controller_contract as words
from gpufabric.validation import permissions
from tests.kubernetes.mocked import Recording, run
from tests.spec.specs import CPU, H100, changed

GATE: Any = {"node_group": H100["node_groups"][0], "validation": H100["validation"]}
NAMESPACE = "gpufabric-dev-train"


def made(args: Any = GATE) -> Recording:
    return run(lambda: FabricGate("kept", args))


def test_the_children() -> None:
    recording = made()
    assert {each.name: each.type.split("/")[0].removeprefix("kubernetes:") for each in recording.resources if each.parent} == {
        "kept-controller": "apps",
        "kept-controller-account": "core",
        "kept-controller-role": "rbac.authorization.k8s.io",
        "kept-controller-role-binding": "rbac.authorization.k8s.io",
        "kept-controller-events-role": "rbac.authorization.k8s.io",
        "kept-controller-events-role-binding": "rbac.authorization.k8s.io",
        "kept-controller-cluster-role": "rbac.authorization.k8s.io",
        "kept-controller-cluster-role-binding": "rbac.authorization.k8s.io",
        "kept-controller-network-policy": "networking.k8s.io",
        "kept-priority-class": "scheduling.k8s.io",
        "kept-node-policy": "admissionregistration.k8s.io",
        "kept-node-policy-binding": "admissionregistration.k8s.io",
    }
    component = recording.one("FabricGate")
    assert {each.parent for each in recording.resources} == {"", component.label}
    assert component.outputs is not None
    assert component.outputs["metrics_port"] == words.METRICS_PORT


def test_placeholders_go_first_and_preempt_nobody() -> None:
    recording = made()
    priority = recording.one("PriorityClass")
    assert (priority.inputs["value"], priority.inputs["preemptionPolicy"]) == (words.PRIORITY, "Never")
    assert priority.inputs["globalDefault"] is False
    (container,) = recording.one("Deployment").inputs["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert env[words.ENV_PRIORITY_CLASS] == priority.inputs["metadata"]["name"] == f"{NAMESPACE}-controller"


def test_it_stands_where_the_coordinator_stands_with_the_same_files() -> None:
    deployment = made().one("Deployment")
    pod = deployment.inputs["spec"]["template"]["spec"]
    coordinator = run(lambda: NcclValidation("gate", GATE)).one("Job").inputs["spec"]["template"]["spec"]
    assert "restartPolicy" not in pod
    for key in ("affinity", "volumes", "securityContext", "enableServiceLinks"):
        assert pod[key] == coordinator[key]
    (container,), (other,) = pod["containers"], coordinator["containers"]
    for key in ("image", "resources", "securityContext", "volumeMounts"):
        assert container[key] == other[key]
    assert (deployment.inputs["spec"]["replicas"], deployment.inputs["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert deployment.inputs["spec"]["selector"]["matchLabels"] == deployment.inputs["spec"]["template"]["metadata"]["labels"]
    assert "kubernetes:core/v1:ServiceAccount kept-controller-account" in deployment.options["dependencies"]
    assert (
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding kept-node-policy-binding"
        in deployment.options["dependencies"]
    ), "it is held to its own words before it starts"


def test_it_leaves_a_dead_node_soon() -> None:
    tolerations = made().one("Deployment").inputs["spec"]["template"]["spec"]["tolerations"]
    assert {each["key"]: each["tolerationSeconds"] for each in tolerations} == {
        "node.kubernetes.io/not-ready": 20,
        "node.kubernetes.io/unreachable": 20,
    }
    assert {(each["operator"], each["effect"]) for each in tolerations} == {("Exists", "NoExecute")}


def test_it_may_do_what_its_contract_says_and_no_more() -> None:
    recording = made()
    assert recording.one("Role", "kept-controller-role").inputs["rules"] == list(permissions.CONTROLLER_IN_NAMESPACE)
    events = recording.one("Role", "kept-controller-events-role").inputs
    assert (events["metadata"]["namespace"], events["rules"]) == ("default", list(permissions.CONTROLLER_EVENTS))
    assert recording.one("ClusterRole").inputs["rules"] == list(permissions.CONTROLLER_IN_CLUSTER)
    rules = (*permissions.CONTROLLER_IN_NAMESPACE, *permissions.CONTROLLER_IN_CLUSTER, *permissions.CONTROLLER_EVENTS)
    for rule in rules:
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        assert "secrets" not in rule["resources"]
    for each in [*recording.of("RoleBinding"), *recording.of("ClusterRoleBinding")]:
        assert each.inputs["subjects"] == [{"kind": "ServiceAccount", "name": "train-controller", "namespace": NAMESPACE}]
    assert recording.one("Deployment").inputs["spec"]["template"]["spec"]["serviceAccountName"] == "train-controller"


def test_the_node_policy_holds_both_accounts_of_the_gate() -> None:
    recording = made()
    policy = recording.one("ValidatingAdmissionPolicy").inputs
    (condition,) = policy["spec"]["matchConditions"]
    for account in ("train-gate", "train-controller"):
        assert f"'system:serviceaccount:{NAMESPACE}:{account}'" in condition["expression"]
    assert policy["spec"]["failurePolicy"] == "Fail"
    binding = recording.one("ValidatingAdmissionPolicyBinding").inputs["spec"]
    assert binding == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert "k in ['pool']" in policy["spec"]["validations"][0]["expression"], "it does not move nodes between groups"


def test_a_given_namespace_is_used() -> None:
    recording = made({**GATE, "namespace": "ml"})
    assert recording.one("Deployment").inputs["metadata"]["namespace"] == "ml"
    assert "system:serviceaccount:ml:train-controller" in json.dumps(recording.one("ValidatingAdmissionPolicy").inputs)


@pytest.mark.parametrize("keep", [True, False, None])
def test_a_stack_keeps_its_gates_where_it_is_asked_to(keep: bool | None) -> None:
    wish = changed(CPU, **({} if keep is None else {"validation__keep": keep}))
    args: Any = {key: wish[key] for key in ("node_groups", "validation")}
    recording = run(lambda: pulumi.export("kept", sorted(KubernetesTrainingStack("prod", args).kept)))
    assert recording.outputs["kept"] == (["train"] if keep else [])
    assert len(recording.of("Deployment")) == (1 if keep else 0)
    if keep:
        assert "kubernetes:batch/v1:Job prod-train-job" in recording.one("FabricGate").options["dependencies"]


def test_single_nodes_are_opened_alone_only_where_something_is_measured_inside_them() -> None:
    wish: Any = {**GATE, "validation": {**GATE["validation"], "single_node_ok": True}}
    recording = run(lambda: FabricGate("kept", wish))
    assert len(recording.of("Deployment")) == 1
    wrong: Any = {**wish, "node_group": {**GATE["node_group"], "nodes": 1, "accelerators": "H100:8"}}
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        run(lambda: FabricGate("kept", wrong), recording=recording)
    assert recording.resources == []
    assert str(caught.value) == (
        "kept.validation.single_node_ok: nothing is measured inside a node of node_group: of a single node no other could be "
        "late; leave it out"
    )
