"""Where the gate's pods may run: one rank per node of the group, the coordinator on a node of no group."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.plan import resolve_group
from gpufabric.plan.placement import MOST_ALTERNATIVES, alternatives
from gpufabric.spec import NodeGroupSpec, ValidationSpec
from gpufabric.validation import contract
from tests.spec.specs import CPU, H100, changed, plan_of

Labels = Mapping[str, str]


def matches(labels: Labels, selector: Labels) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


def admits(affinity: Mapping[str, Any], labels: Labels) -> bool:
    """Whether a required node affinity takes a node, by the scheduler's rules: terms are ORed, expressions ANDed."""
    required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return any(
        term["matchExpressions"] != [] and all(_holds(each, labels) for each in term["matchExpressions"])
        for term in required["nodeSelectorTerms"]
    )


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    present = labels.get(expression["key"]) in expression["values"]  # an absent key is not in the values
    return present if expression["operator"] == "In" else {"NotIn": not present}[expression["operator"]]


def coordinator_affinity(selectors: Sequence[Labels]) -> Mapping[str, Any]:
    groups = [
        NodeGroupSpec.parse({**CPU["node_groups"][0], "name": f"g{i}", "node_selector": dict(selector)})
        for i, selector in enumerate(selectors)
    ]
    wish = ValidationSpec.parse(CPU["validation"])
    plan = resolve_group(groups[0], wish, "dev", "group", all_groups=groups[1:])
    affinity: Mapping[str, Any] = plan.gate.coordinator_job_spec["template"]["spec"]["affinity"]
    return affinity


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
selectors = st.lists(labels.filter(bool), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(selectors, labels)
def test_the_coordinator_runs_on_exactly_the_nodes_of_no_group(groups: list[dict[str, str]], node: dict[str, str]) -> None:
    assert admits(coordinator_affinity(groups), node) == (not any(matches(node, selector) for selector in groups))


@pytest.mark.parametrize(
    ("node", "admitted"),
    [
        ({}, True),
        ({"pool": "system"}, True),
        ({"pool": "a", "gpu": "yes"}, False),
        ({"pool": "a", "gpu": "no"}, True),
        ({"pool": "a"}, True),
        ({"gpu": "yes"}, True),
        ({"pool": "b"}, False),
        ({"pool": "b", "gpu": "yes"}, False),
    ],
)
def test_the_truth_table_of_two_groups(node: dict[str, str], admitted: bool) -> None:
    assert admits(coordinator_affinity([{"pool": "a", "gpu": "yes"}, {"pool": "b"}]), node) is admitted


def test_the_gates_own_group_counts_when_others_are_listed() -> None:
    """The list of groups of a component may leave the validated one out; its nodes are kept free all the same."""
    group = NodeGroupSpec.parse(CPU["node_groups"][0])
    other = NodeGroupSpec.parse({**CPU["node_groups"][0], "name": "other", "node_selector": {"pool": "other"}})
    plan = resolve_group(group, ValidationSpec.parse(CPU["validation"]), "dev", "group", all_groups=[other])
    affinity = plan.gate.coordinator_job_spec["template"]["spec"]["affinity"]
    assert [admits(affinity, {"pool": pool}) for pool in ("train", "other", "system")] == [False, False, True]


def test_every_gate_of_a_stack_keeps_off_all_groups() -> None:
    first = CPU["node_groups"][0]
    plan = plan_of({**CPU, "node_groups": [first, {**first, "name": "other", "node_selector": {"pool": "other"}}]})
    for group in plan.groups:
        affinity = group.gate.coordinator_job_spec["template"]["spec"]["affinity"]
        assert [admits(affinity, {"pool": pool}) for pool in ("train", "other", "system")] == [False, False, True]


def test_a_shared_label_keeps_the_rules_few() -> None:
    pools = [{"pool": f"p{i}", "gpu": "yes"} for i in range(40)]
    assert set(alternatives(pools)) == {frozenset({("gpu", "yes")}), frozenset(("pool", f"p{i}") for i in range(40))}


def test_the_search_for_rules_ends_early() -> None:
    unrelated = [{f"a{i}": "x", f"b{i}": "x"} for i in range(200)]
    assert MOST_ALTERNATIVES < len(alternatives(unrelated)) <= 2 * MOST_ALTERNATIVES


def test_one_rank_per_node_of_the_group_and_nowhere_else() -> None:
    job = plan_of(changed(H100)).groups[0].gate.gate.rank_job
    pod, pod_labels = job["spec"]["template"]["spec"], job["spec"]["template"]["metadata"]["labels"]
    assert pod["nodeSelector"] == {"pool": "train"}
    (term,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert matches(pod_labels, term["labelSelector"]["matchLabels"]), "ranks must repel each other"
    assert "nodeAffinity" not in pod["affinity"], "the gate runs on nodes that nobody has validated yet"
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 2


def test_ranks_of_two_gates_do_not_repel_each_other() -> None:
    first = H100["node_groups"][0]
    plan = plan_of({**H100, "node_groups": [first, {**first, "name": "other", "node_selector": {"pool": "other"}}]})
    (one,), (other,) = (
        group.gate.gate.rank_job["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        for group in plan.groups
    )
    other_labels = plan.groups[1].gate.gate.rank_job["spec"]["template"]["metadata"]["labels"]
    assert not matches(other_labels, one["labelSelector"]["matchLabels"])
    assert one != other


def test_gpu_nodes_are_tolerated_by_their_taint() -> None:
    taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    hold = dict(contract.HOLD_TOLERATION)
    assert plan_of(H100).groups[0].gate.gate.rank_job["spec"]["template"]["spec"]["tolerations"] == [taint, hold]
    assert plan_of(CPU).groups[0].gate.gate.rank_job["spec"]["template"]["spec"]["tolerations"] == [hold]
    coordinator = plan_of(H100).groups[0].gate.coordinator_job_spec["template"]["spec"]
    assert "tolerations" not in coordinator, "the coordinator runs on an untainted node"
