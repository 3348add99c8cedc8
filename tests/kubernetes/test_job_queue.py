"""The queue as a component: Kueue's objects in their order, and that a stack makes it only where it is asked to."""

import json
from typing import Any

import pytest

from gpufabric.kubernetes import JobQueue, KubernetesNodeGroup, KubernetesTrainingStack
from gpufabric.spec import SpecError
from tests.kubernetes.mocked import Recording, run, verdicts
from tests.spec.specs import CPU, H100, changed

KUEUE: Any = {"kind": "kueue"}
GROUP: Any = {**H100["node_groups"][0], "scheduler": KUEUE}
QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2"


def made(**scheduler: Any) -> Recording:
    args: Any = {"node_group": {**GROUP, "scheduler": {**KUEUE, **scheduler}}}
    return run(lambda: JobQueue("q", args))


def test_the_children_in_their_order() -> None:
    recording = made(namespaces=["a", "b"])
    after = {each.label: each.options.get("dependencies", []) for each in recording.resources if each.parent}
    assert after == {
        f"{QUEUE}:Topology q-topology": [],
        f"{QUEUE}:ResourceFlavor q-flavor": [f"{QUEUE}:Topology q-topology"],
        f"{QUEUE}:ClusterQueue q-cluster-queue": [f"{QUEUE}:ResourceFlavor q-flavor"],
        f"{QUEUE}:LocalQueue q-queue-a": [f"{QUEUE}:ClusterQueue q-cluster-queue"],
        f"{QUEUE}:LocalQueue q-queue-b": [f"{QUEUE}:ClusterQueue q-cluster-queue"],
    }
    component = recording.one("JobQueue")
    assert {each.parent for each in recording.resources} == {"", component.label}
    assert component.outputs == {"queue": "train", "cluster_queue": "gpufabric-dev-train"}


def test_what_asks_for_nodes_is_there_before_the_queue() -> None:
    args: Any = {
        "node_group": {
            **GROUP,
            "scheduler": {**KUEUE, "provisioning": {"kind": "gke_queued"}},
            "preflight": {"image": "acme.example/cuda:12"},
        }
    }
    recording = run(lambda: JobQueue("q", args))
    after = {each.label: sorted(each.options.get("dependencies", [])) for each in recording.resources if each.parent}
    assert after == {
        f"{QUEUE}:ResourceFlavor q-flavor": [],
        f"{QUEUE}:ProvisioningRequestConfig q-provisioning": [],
        f"{QUEUE}:AdmissionCheck q-admission-check": [f"{QUEUE}:ProvisioningRequestConfig q-provisioning"],
        f"{QUEUE}:ClusterQueue q-cluster-queue": [
            f"{QUEUE}:AdmissionCheck q-admission-check",
            f"{QUEUE}:ResourceFlavor q-flavor",
        ],
        f"{QUEUE}:LocalQueue q-queue-default": [f"{QUEUE}:ClusterQueue q-cluster-queue"],
    }
    check, config = recording.one("AdmissionCheck").inputs, recording.one("ProvisioningRequestConfig").inputs
    assert check["spec"]["parameters"]["name"] == config["metadata"]["name"]


def test_they_refer_to_each_other() -> None:
    recording = made()
    topology, flavor, cluster_queue, local = (
        recording.one(kind).inputs for kind in ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue")
    )
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    (group,) = cluster_queue["spec"]["resourceGroups"]
    assert [each["name"] for each in group["flavors"]] == [flavor["metadata"]["name"]]
    assert local["spec"] == {"clusterQueue": cluster_queue["metadata"]["name"]}
    assert local["metadata"]["namespace"] == "default"
    assert flavor["spec"]["nodeLabels"]["gpufabric.dev/validated"] == "pass"


def test_a_wrong_wish_says_so_before_anything_is_registered() -> None:
    recording = Recording()
    args: Any = {"node_group": {**GROUP, "fabric": "infinband", "scheduler": {**KUEUE, "installed": False}}}
    with pytest.raises(SpecError) as caught:
        run(lambda: JobQueue("q", args), recording=recording)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("q.node_group.fabric: unknown fabric 'infinband'")
    assert lines[1].startswith("q.node_group.scheduler.installed: not built yet")
    assert recording.resources == []


def test_the_node_group_puts_jobs_into_it() -> None:
    groups: list[KubernetesNodeGroup] = []
    recording = run(lambda: groups.append(KubernetesNodeGroup("g", GROUP)))
    assert [each.type for each in recording.resources] == ["gpufabric:index:KubernetesNodeGroup"]
    outputs = recording.one("KubernetesNodeGroup").outputs
    assert outputs is not None
    name = made().one("LocalQueue").inputs["metadata"]["name"]
    assert outputs["profile"]["admission"]["jobLabels"] == {"kueue.x-k8s.io/queue-name": name}
    job = groups[0].pod_profile.apply_to({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}})
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "train"}


@pytest.mark.parametrize("scheduler", [None, KUEUE])
def test_a_stack_makes_queues_where_it_is_asked_to(scheduler: Any) -> None:
    wish = changed(CPU, **({} if scheduler is None else {"scheduler": scheduler}))
    args: Any = {key: wish[key] for key in ("node_groups", "validation", "scheduler") if key in wish}
    recording = run(lambda: KubernetesTrainingStack("dev", args))
    assert [each.name for each in recording.of("JobQueue")] == ([] if scheduler is None else ["dev-train"])
    outputs = recording.one("KubernetesTrainingStack").outputs
    assert outputs is not None
    assert ("jobLabels" in outputs["pod_profiles"]["train"]["admission"]) == (scheduler is not None)


def test_the_queue_does_not_wait_for_the_gate() -> None:
    """Else a job could not wait before the first verdict, nor after a bad one."""
    args: Any = {**{key: CPU[key] for key in ("node_groups", "validation")}, "scheduler": KUEUE}
    recording = run(lambda: KubernetesTrainingStack("dev", args))
    for each in recording.resources:
        if each.type.startswith(QUEUE) or each.type.endswith(":JobQueue"):
            assert "NcclValidation" not in json.dumps(each.options)
            assert "Job " not in json.dumps(each.options)


def test_a_group_may_have_a_scheduler_of_its_own() -> None:
    second = {
        **CPU["node_groups"][0],
        "name": "other",
        "node_selector": {"pool": "other"},
        "scheduler": {**KUEUE, "queue": "big"},
    }
    args: Any = {"node_groups": [CPU["node_groups"][0], second], "validation": CPU["validation"]}
    cluster = verdicts("gpufabric-dev-train/train-verdict", "gpufabric-dev-other/other-verdict")
    recording = run(lambda: KubernetesTrainingStack("dev", args), cluster=cluster)
    assert [each.name for each in recording.of("JobQueue")] == ["dev-other"]
    both: Any = {**args, "scheduler": {**KUEUE, "queue": "small"}}
    recording = run(lambda: KubernetesTrainingStack("dev", both), cluster=cluster)
    assert [each.inputs["metadata"]["name"] for each in recording.of("LocalQueue")] == ["big", "small"]


def test_a_queue_needs_a_scheduler() -> None:
    with pytest.raises(SpecError, match=r"^q\.node_group\.scheduler: missing; write \{kind: kueue\}$"):
        run(lambda: JobQueue("q", {"node_group": CPU["node_groups"][0]}))
