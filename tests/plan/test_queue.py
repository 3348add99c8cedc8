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
from tests.spec.specs import CPU, H100, changed, plan_of

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
