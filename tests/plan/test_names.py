"""Names in the cluster: valid whatever stack and group are called, and never the same for two gates."""

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gpufabric.plan.names import GateNames, gate_names, stack_slug
from gpufabric.spec.node_group import NAME_LETTERS
from tests.spec.specs import CPU, changed, plan_of

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
MOST_NODES = 5000
# Pulumi allows letters, digits, hyphens, underscores and periods; we are stricter to nobody.
stacks = (
    st.text(max_size=100) | st.from_regex(r"[A-Za-z0-9_.-]{1,100}", fullmatch=True) | st.text("ab-.", min_size=1, max_size=6)
)
groups = st.from_regex(rf"[a-z]([-a-z0-9]{{0,{NAME_LETTERS - 2}}}[a-z0-9])?", fullmatch=True) | st.from_regex(
    r"[ab]([ab-]{0,3}[ab])?", fullmatch=True
)


def names_of(names: GateNames) -> list[str]:
    fixed = [names.namespace, names.cluster_role, names.account, names.programs, names.plan, names.ranks, names.verdict]
    return [*fixed, f"{names.account}-0123abcd", f"{names.ranks}-{MOST_NODES - 1}"]


@settings(max_examples=100, deadline=None)
@given(stacks, groups)
@example("", "a")
@example("-", "a")
@example("é" * 50, "g" * NAME_LETTERS)
@example("a" * 24, "g" * NAME_LETTERS)
@example("a-b" * 30, "g" + "-" * (NAME_LETTERS - 2) + "g")
def test_every_name_is_a_dns_label(stack: str, group: str) -> None:
    for name in names_of(gate_names(stack, group)):
        assert DNS_LABEL.fullmatch(name), name
    # A Job's pods are labelled with its name, and a pod's name ends in five letters and a hyphen: both are cut at 63.
    assert len(f"{gate_names(stack, group).account}-0123abcd") <= 63 - 6


@settings(max_examples=150, deadline=None)
@given(st.tuples(stacks, groups), st.tuples(stacks, groups))
@example(("a", "b-c"), ("a-b", "c"))
@example(("a", "b--c"), ("a-b", "c"))
@example(("Dev", "a"), ("dev", "a"))
@example(("a.b", "a"), ("a-b", "a"))
@example(("x" * 25, "a"), ("x" * 26, "a"))
@example(("a", "b"), ("a-", "b"))
def test_two_gates_never_share_a_name_of_the_cluster(one: tuple[str, str], other: tuple[str, str]) -> None:
    assume(one != other)
    first, second = gate_names(*one), gate_names(*other)
    assert first.namespace != second.namespace
    assert first.cluster_role != second.cluster_role


@pytest.mark.parametrize(
    ("stack", "group", "namespace"),
    [
        ("local", "train", "gpufabric-local-train"),
        ("dev", "train", "gpufabric-dev-train"),
        ("prod-eu", "train", "gpufabric-prod-eu--train"),
        ("prod", "train-a", "gpufabric-prod--train-a"),
    ],
)
def test_common_names_stay_readable(stack: str, group: str, namespace: str) -> None:
    assert gate_names(stack, group).namespace == namespace


def test_what_does_not_fit_is_cut_and_told_apart() -> None:
    slug = stack_slug("Acme_Production.us-east-2")
    assert re.fullmatch(r"acme-production-u-[0-9a-f]{6}", slug)
    assert slug != stack_slug("Acme_Production.us-east-3")


def test_a_given_namespace_holds_the_objects_but_not_the_cluster_role() -> None:
    """Two gates in one namespace have roles of their own, and nobody's ClusterRole of that name is taken over."""
    first, second = gate_names("dev", "a", "ml"), gate_names("dev", "b", "ml")
    assert (first.namespace, second.namespace) == ("ml", "ml")
    assert (first.cluster_role, second.cluster_role) == ("gpufabric-dev-a", "gpufabric-dev-b")
    assert not set(names_of(first)[2:]) & set(names_of(second)[2:])


def test_the_plan_uses_these_names() -> None:
    gate = plan_of(changed(CPU), "dev").groups[0].gate
    assert gate.names == gate_names("dev", "train")
    assert gate.gate.namespace == gate.names.namespace
    assert gate.gate.rank_job["metadata"]["name"] == gate.names.ranks == gate.gate.names.service
    assert gate.gate.names.coordinator_job == f"{gate.names.account}-{gate.trigger[:8]}"
