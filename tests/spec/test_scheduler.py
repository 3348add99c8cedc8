"""The wish for a queue: what a user need not write, and the exact lines for what is wrong."""

from typing import Any

import pytest

from gpufabric.spec import TrainingSpec
from tests.spec.specs import H100, changed, problems

SCHEDULER_KEYS = "kind, installed, queue, cluster_queue, namespaces, topology_levels"


def queue(wish: object = None, **keys: Any) -> dict[str, Any]:
    return changed(H100, scheduler={"kind": "kueue", **keys} if wish is None else wish)


def two(**scheduler: Any) -> dict[str, Any]:
    first = H100["node_groups"][0]
    groups = [first, {**first, "name": "other", "node_selector": {"pool": "other"}}]
    return {**queue(**scheduler), "node_groups": groups}


EACH = "leave it out, or write a scheduler of its own into each group"
Cases = dict[str, tuple[object, str | list[str]]]
CASES: Cases = {
    "scheduler is no mapping": (queue("kueue"), "scheduler: expected a mapping, found 'kueue'; known keys: " + SCHEDULER_KEYS),
    "no kind": (queue({}), "scheduler.kind: missing; this key is required"),
    "another scheduler": (queue({"kind": "volcano"}), "scheduler.kind: 'volcano' is not a choice here; write kueue"),
    "Kueue that we should install": (
        queue(installed=False),
        (
            "scheduler.installed: not built yet: this does not install Kueue; "
            "install Kueue by its own manifests or chart, then leave this key out"
        ),
    ),
    "a queue with a bad name": (
        queue(queue="My_queue"),
        ("scheduler.queue: 'My_queue' cannot name a queue; write 1 to 63 of a-z, 0-9 and -, not beginning or ending in -"),
    ),
    "no namespace": (
        queue(namespaces=[]),
        "scheduler.namespaces: empty: no job could be submitted; write the namespaces that jobs are submitted in",
    ),
    "a namespace twice": (
        queue(namespaces=["a", "b", "a"]),
        "scheduler.namespaces: a namespace is listed twice; write each once",
    ),
    "no namespace's name": (
        queue(namespaces=["a", "B"]),
        "scheduler.namespaces[1]: 'B' cannot be a namespace; write the name that kubectl get namespaces shows",
    ),
    "a level that is no label": (
        queue(topology_levels=["rack=1"]),
        (
            "scheduler.topology_levels: 'rack=1' is not the key of a node label; "
            "write it as kubectl get nodes --show-labels shows it"
        ),
    ),
    "the verdict as a level": (
        queue(topology_levels=["gpufabric.dev/validated"]),
        ("scheduler.topology_levels: gpufabric.dev/validated says how a node did, not where it stands; leave it out"),
    ),
    "a level twice": (
        queue(topology_levels=["rack", "rack"]),
        "scheduler.topology_levels: a label is listed twice; write each once, the widest first",
    ),
    "the host above something": (
        queue(topology_levels=["kubernetes.io/hostname", "rack"]),
        "scheduler.topology_levels: kubernetes.io/hostname is the narrowest level; write it last, or leave it out",
    ),
    "sixteen levels and the host": (
        queue(topology_levels=[f"l{i}" for i in range(16)]),
        "scheduler.topology_levels: more than 15 levels above the host; leave some out",
    ),
    "names for the queues of two groups": (
        two(queue="a", cluster_queue="b"),
        [f"scheduler.{key}: one name for the queues of 2 groups; {EACH}" for key in ("queue", "cluster_queue")],
    ),
    "more labels than a flavor holds": (
        changed(H100, scheduler={"kind": "kueue"}, group__node_selector={f"l{i}": "x" for i in range(8)}),
        (
            "scheduler: train has a selector of 8 labels; a queue's flavor holds 8, one is the gate's; "
            "select the group by fewer labels (Kueue, ResourceFlavor, v0.17)"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_scheduler_is_answered_with_these_lines(case: str) -> None:
    spec, lines = CASES[case]
    assert problems(spec) == ([lines] if isinstance(lines, str) else lines)


def test_the_defaults() -> None:
    assert TrainingSpec.parse(H100).scheduler is None
    found = TrainingSpec.parse(queue()).scheduler
    assert found is not None
    assert (found.installed, found.queue, found.cluster_queue, found.namespaces, found.topology_levels) == (
        *(True, None, None, ["default"], []),
    )


@pytest.mark.parametrize(
    "keys",
    [
        {"queue": "a", "cluster_queue": "0-9"},
        {"namespaces": ["ml", "default"]},
        {"topology_levels": ["kubernetes.io/hostname"]},
        {"topology_levels": [f"topology.k8s.aws/network-node-layer-{i}" for i in range(1, 5)]},
        {"topology_levels": [f"l{i}" for i in range(15)] + ["kubernetes.io/hostname"]},
    ],
)
def test_what_is_accepted(keys: dict[str, Any]) -> None:
    assert problems(queue(**keys)) == []


def test_groups_with_queues_of_their_own_names() -> None:
    assert problems(two()) == []


def test_a_group_may_have_its_own() -> None:
    wish = changed(H100, group__scheduler={"kind": "kueue", "queue": "big"}, scheduler={"kind": "kueue", "queue": "small"})
    assert problems(wish) == []
    wish = changed(H100, group__scheduler={"kind": "kueue", "installed": False})
    assert problems(wish)[0].startswith("node_groups[0].scheduler.installed: not built yet")
