"""The queue of a group: it holds the verdict's label, counts what the group has, and every wish gives one plan."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.plan import explain
from gpufabric.plan.names import stack_slug
from gpufabric.plan.profile import GPU_TAINT
from gpufabric.plan.queue import QueuePlan
from gpufabric.spec import SpecError
from tests.spec.specs import CPU, GONE, H100, changed, plan_of

HOST = "kubernetes.io/hostname"
RACKS = ["example.com/block", "example.com/rack"]


def queue_of(base: dict[str, Any], stack: str = "dev", **scheduler: Any) -> QueuePlan:
    (group,) = plan_of(changed(base, scheduler={"kind": "kueue", **scheduler}), stack).groups
    assert group.queue is not None
    return group.queue


def quotas(queue: QueuePlan) -> dict[str, str]:
    (resources,) = queue.cluster_queue_spec["resourceGroups"]
    (flavor,) = resources["flavors"]
    found = {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
    assert flavor["name"] == queue.flavor
    assert list(found) == resources["coveredResources"], "Kueue wants them in one order"
    return found


def test_no_queue_without_a_wish() -> None:
    (group,) = plan_of(H100).groups
    assert group.queue is None
    assert group.profile.admission.queue is None
    assert group.profile.to_dict()["admission"].keys() == {"nodeSelector"}


def test_the_flavor_is_the_groups_nodes_that_passed() -> None:
    flavor = queue_of(H100).flavor_spec
    assert flavor["nodeLabels"] == {"pool": "train", "gpufabric.dev/validated": "pass"}
    assert flavor["tolerations"] == [dict(GPU_TAINT)], "else TAS would leave out the nodes that its jobs run on"
    assert flavor["topologyName"] == queue_of(H100).topology
    assert "tolerations" not in queue_of(CPU).flavor_spec, "with an empty list Kueue 0.17 can never delete the flavor"


def test_the_quota_is_what_the_group_has() -> None:
    queue = queue_of(H100)
    assert queue.quota == {"nvidia.com/gpu": 16}
    no_limit = {"cpu": "10M", "memory": "1Ei", "ephemeral-storage": "1Ei", "rdma/ib": "10M"}
    assert quotas(queue) == {**no_limit, "nvidia.com/gpu": "16"}


def test_the_quota_of_nodes_without_accelerators_is_a_pod_for_each() -> None:
    assert queue_of(CPU).quota == {"pods": 2}
    assert quotas(queue_of(CPU)) == {"cpu": "10M", "memory": "1Ei", "ephemeral-storage": "1Ei", "pods": "2"}


def test_every_device_that_the_profile_asks_for_is_covered() -> None:
    """Kueue never admits a job that asks for a resource its queue does not cover."""
    (group,) = plan_of(changed(H100, scheduler={"kind": "kueue"})).groups
    assert group.queue is not None
    assert group.profile.fabric.resources.keys() <= quotas(group.queue).keys()


@pytest.mark.parametrize(
    ("wished", "levels"),
    [([], (HOST,)), ([HOST], (HOST,)), (RACKS, (*RACKS, HOST)), ([*RACKS, HOST], (*RACKS, HOST))],
)
def test_the_host_is_the_last_level(wished: list[str], levels: tuple[str, ...]) -> None:
    queue = queue_of(CPU, topology_levels=wished)
    assert queue.levels == levels
    assert [each["nodeLabel"] for each in queue.topology_spec["levels"]] == list(levels)


def test_names() -> None:
    queue = queue_of(CPU)
    assert (queue.cluster_queue, queue.local_queue, queue.namespaces) == ("gpufabric-dev-train", "train", ("default",))
    queue = queue_of(CPU, queue="q", cluster_queue="c", namespaces=["b", "a"])
    assert (queue.cluster_queue, queue.local_queue, queue.local_queue_spec) == ("c", "q", {"clusterQueue": "c"})
    (expression,) = queue.cluster_queue_spec["namespaceSelector"]["matchExpressions"]
    assert expression == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}


def test_what_cannot_change_has_its_content_in_its_name() -> None:
    """Topology and flavor are immutable: another wish makes new ones, and the queue moves over before the old ones go."""
    one, other = queue_of(CPU), queue_of(CPU, topology_levels=RACKS)
    assert one.topology != other.topology
    assert one.flavor != other.flavor
    assert one.cluster_queue == other.cluster_queue
    moved = queue_of(changed(CPU, group__node_selector={"pool": "b"}))
    assert (moved.topology, moved.flavor == one.flavor) == (one.topology, False)
    assert queue_of(changed(CPU, group__nodes=3)).flavor == one.flavor, "only the quota is another"


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=40))
def test_names_fit_into_kubernetes(stack: str) -> None:
    queue = queue_of(changed(CPU, group__name="a-group-of-20-letter"), stack)
    for name in (queue.topology, queue.flavor, queue.cluster_queue):
        assert len(name) <= 63
        assert stack_slug(stack) in name


def test_the_gate_does_not_know_of_the_queue() -> None:
    """A queue that is added later must not measure busy nodes again."""
    without, with_queue = plan_of(H100).groups[0], plan_of(changed(H100, scheduler={"kind": "kueue"})).groups[0]
    assert without.gate == with_queue.gate
    assert without.profile.fabric == with_queue.profile.fabric


def test_the_same_wish_gives_the_same_plan() -> None:
    both = [json.dumps(queue_of(H100, topology_levels=RACKS).cluster_queue_spec) for _ in range(2)]
    assert both[0] == both[1]


def test_it_is_explained() -> None:
    ((_, lines),) = explain(plan_of(changed(H100, scheduler={"kind": "kueue", "topology_levels": RACKS})))
    said = {line.subject: line for line in lines}
    assert said["queue"].decision == "LocalQueue train in default, ClusterQueue gpufabric-dev-train with nvidia.com/gpu: 16"
    assert said["queue"].why == "opened by the verdict: its capacity is what the nodes that passed have free"
    assert said["placement"].decision == "close together by example.com/block, then example.com/rack"
    ((_, lines),) = explain(plan_of(changed(H100, scheduler={"kind": "kueue"})))
    assert {line.subject: line.decision for line in lines}["placement"] == "on any free nodes of the group"
    assert "queue" not in {line.subject for _, lines in explain(plan_of(H100)) for line in lines}


PROVISIONED: dict[str, Any] = changed(
    H100,
    group__scheduler={"kind": "kueue", "provisioning": {"kind": "gke_queued", "max_run_seconds": 3600}},
    group__preflight={"image": "acme.example/cuda:12"},
)


def provisioned(base: dict[str, Any] = PROVISIONED) -> QueuePlan:
    (group,) = plan_of(base).groups
    assert group.queue is not None
    return group.queue


def test_nodes_that_come_for_a_job_are_asked_for_and_not_counted() -> None:
    queue = provisioned()
    assert queue.check is not None
    assert queue.check.config_spec == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": ["nvidia.com/gpu"],
        "podSetUpdates": {
            "nodeSelector": [
                {"key": "autoscaling.gke.io/provisioning-request", "valueFromProvisioningClassDetail": "ResizeRequestName"}
            ]
        },
        "parameters": {"maxRunDurationSeconds": "3600"},
    }
    assert queue.check.check_spec["parameters"]["name"] == queue.check.name
    assert queue.cluster_queue_spec["admissionChecksStrategy"] == {"admissionChecks": [{"name": queue.check.name}]}
    assert queue.flavor_spec["nodeLabels"] == {"pool": "train"}, "no node could have the gate's label before"
    assert "topologyName" not in queue.flavor_spec, "with one the nodes that are there would be counted: none"
    assert (queue.topology, queue.levels) == ("", ())
    assert quotas(queue)["nvidia.com/gpu"] == "16"


def test_how_long_nodes_live_is_the_clouds_unless_it_is_said() -> None:
    check = provisioned(changed(PROVISIONED, group__scheduler={"kind": "kueue", "provisioning": {"kind": "gke_queued"}})).check
    assert check is not None
    assert "parameters" not in check.config_spec


def test_what_a_queue_is_made_of() -> None:
    assert queue_of(H100).kinds == ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue")
    of_check = ("ResourceFlavor", "ProvisioningRequestConfig", "AdmissionCheck", "ClusterQueue", "LocalQueue")
    assert provisioned().kinds == of_check


def test_a_job_that_waits_for_its_nodes_asks_for_no_place() -> None:
    (group,) = plan_of(PROVISIONED).groups
    admission = group.profile.to_dict()["admission"]
    assert admission["jobLabels"] == {"kueue.x-k8s.io/queue-name": "train"}
    assert "podAnnotations" not in admission
    job = group.profile.apply_to({"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}})
    template = job["spec"]["template"]
    assert not any(key.startswith("kueue.x-k8s.io/podset") for key in template.get("metadata", {}).get("annotations", {}))
    assert [each["name"] for each in template["spec"]["initContainers"]] == ["gpufabric-preflight"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"group__preflight": GONE},
            "node_groups[0].scheduler.provisioning: the nodes of train come for each job: none of them could be validated",
        ),
        (
            {"group__scheduler": {**PROVISIONED["node_groups"][0]["scheduler"], "topology_levels": RACKS}},
            "node_groups[0].scheduler.topology_levels: the nodes of train are not there yet when a job is admitted",
        ),
        (
            {"group__scheduler": {"kind": "kueue"}},
            "node_groups[0].preflight: the queue gives out validated nodes alone, and here nodes are made for each job",
        ),
    ],
)
def test_what_does_not_go_together(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(SpecError) as caught:
        plan_of(changed(PROVISIONED, **changes))
    assert str(caught.value).startswith(line)


def test_who_is_asked_is_explained() -> None:
    (line,) = [line for _, lines in explain(plan_of(PROVISIONED)) for line in lines if line.subject == "queue"]
    assert line.why == "queued-provisioning.gke.io is asked for the nodes of each job, all at once"
