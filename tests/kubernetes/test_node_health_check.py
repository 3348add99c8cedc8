"""Node health alone as a component: what it creates, what it runs on each node, and what it refuses."""

import json
from typing import Any, cast

import pytest

from gpufabric.kubernetes import NodeHealthCheck
from gpufabric.spec import SpecError
from gpufabric.validation import contract
from tests.kubernetes.mocked import Recording, run
from tests.spec.specs import CPU, H100

GATE = "ghcr.io/acme/gate:1.2"
WISH: Any = {"node_group": H100["node_groups"][0], "image": GATE}


def made(args: Any = WISH) -> Recording:
    return run(lambda: NodeHealthCheck("nodes", args))


def job_of(recording: Recording) -> dict[str, Any]:
    (job,) = recording.of("Job")
    return job.inputs


def test_the_children() -> None:
    recording = made()
    children = {each.name: each.inputs["metadata"]["name"] for each in recording.resources if each.parent}
    (job,) = [name for name in children.values() if name.startswith("train-health-") and name[-8:].isalnum()][-1:]
    assert children == {
        "nodes-namespace": "gpufabric-dev-train-health",
        "nodes-programs": "train-health-programs",
        "nodes-plan": "train-health-plan",
        "nodes-job": job,
    }
    (namespace,) = recording.of("Namespace")
    assert namespace.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"  # IPC_LOCK


def test_every_node_is_read_with_the_profile_and_judged_without_rights() -> None:
    spec = job_of(made())["spec"]
    nodes = WISH["node_group"]["nodes"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (nodes, nodes, "Indexed")
    assert spec["backoffLimit"] == 0
    assert "backoffLimitPerIndex" not in spec, "Pulumi's provider would wait for such a Job until its timeout"
    pod = spec["template"]["spec"]
    rank, judge = pod["containers"]
    assert rank["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert rank["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert judge["command"] == list(contract.NODE_CHECK_COMMAND)
    assert judge["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert contract.HOLD_TOLERATION in [dict(each) for each in pod["tolerations"]]
    (term,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    (plan,) = [each for each in made().of("ConfigMap") if each.name == "nodes-plan"]
    assert json.loads(plan.inputs["data"]["health.json"])["gpus"] == 8


def test_the_readers_image_and_the_severities_are_the_users() -> None:
    group = {**CPU["node_groups"][0], "profile": {"image": "acme/train:2"}}
    group.pop("fabric")
    recording = made({"node_group": group, "image": GATE, "health": {"interface": "warning"}, "namespace": "ml"})
    rank, judge = job_of(recording)["spec"]["template"]["spec"]["containers"]
    assert (rank["image"], judge["image"]) == ("acme/train:2", GATE)
    assert recording.of("Namespace") == []
    (plan,) = [each for each in recording.of("ConfigMap") if each.name == "nodes-plan"]
    assert json.loads(plan.inputs["data"]["health.json"])["rules"]["interface"]["severity"] == "warning"


def test_another_wish_is_another_job() -> None:
    names = {
        json.dumps(args): job_of(made(args))["metadata"]["name"]
        for args in (
            WISH,
            {**WISH, "run": 2},
            {**WISH, "health": {"shm": "warning"}},
            {**WISH, "image": "ghcr.io/acme/gate:1.3"},
        )
    }
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"image": "ghcr.io/acme/gate:latest"}, "nodes.image: ghcr.io/acme/gate:latest is not pinned"),
        ({"health": {"shm": "ignore"}}, "nodes.health.shm: a check is never left out"),
        ({"node_group": {**WISH["node_group"], "accelerators": "H1000:8"}}, "nodes.node_group.accelerators"),
    ],
)
def test_refused_before_anything_is_registered(change: dict[str, Any], says: str) -> None:
    recording, args = Recording(), {**WISH, **change}
    with pytest.raises(SpecError) as caught:
        run(lambda: NodeHealthCheck("nodes", cast(Any, args)), recording=recording)
    assert says in str(caught.value)
    assert recording.resources == []
