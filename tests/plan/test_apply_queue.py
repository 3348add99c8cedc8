"""``PodProfile.apply_to`` for a group with a queue: the label on the Job, the request on its pods, conflicts are errors."""

import copy
from typing import Any

import pytest

from gpufabric.plan import PodProfile, ProfileConflictError
from tests.spec.specs import H100, changed, plan_of

QUEUE = "kueue.x-k8s.io/queue-name"
REQUIRED, PREFERRED, UNCONSTRAINED = (
    f"kueue.x-k8s.io/podset-{how}-topology" for how in ("required", "preferred", "unconstrained")
)


def profile(**scheduler: Any) -> PodProfile:
    return plan_of(changed(H100, scheduler={"kind": "kueue", **scheduler})).groups[0].profile


def job(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": dict(annotations)} if annotations else {},
        "spec": {"containers": [{"name": "main", "image": "acme/train:1"}]},
    }
    return {
        "metadata": {"name": "finetune", **({"labels": dict(labels)} if labels else {})},
        "spec": {"completions": 2, "template": template},
    }


def test_the_job_waits_in_the_queue() -> None:
    given = job()
    before = copy.deepcopy(given)
    found = profile().apply_to(given)
    assert found["metadata"] == {"name": "finetune", "labels": {QUEUE: "train"}}
    assert found["spec"]["template"]["metadata"]["annotations"] == {UNCONSTRAINED: "true"}
    assert found["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "train"}
    assert given == before


def test_levels_above_the_host_are_asked_for_by_the_narrowest() -> None:
    """Kueue goes up from there by itself when the job does not fit into one domain."""
    found = profile(topology_levels=["block", "rack"]).apply_to(job())
    assert found["spec"]["template"]["metadata"]["annotations"] == {PREFERRED: "rack"}


def test_the_whole_kubernetes_object_will_do() -> None:
    found = profile(queue="big").apply_to({"apiVersion": "batch/v1", "kind": "Job", **job()})
    assert found["metadata"]["labels"] == {QUEUE: "big"}


def test_the_rest_is_what_it_is_without_a_queue() -> None:
    without = plan_of(H100).groups[0].profile.apply_to(job())
    found = profile().apply_to(job())
    del found["metadata"]["labels"], found["spec"]["template"]["metadata"]["annotations"]
    assert found == without


@pytest.mark.parametrize("form", ["spec", "template", "pod"])
def test_a_part_of_a_job_cannot_carry_the_label(form: str) -> None:
    whole = job()
    part = {"spec": whole["spec"], "template": whole["spec"]["template"], "pod": whole["spec"]["template"]["spec"]}[form]
    with pytest.raises(TypeError, match=r"kueue\.x-k8s\.io/queue-name is a label of the Job, .*; pass the Job whole"):
        profile().apply_to(part)


def test_what_the_job_says_already_stays() -> None:
    said = job({QUEUE: "train", "team": "a"}, {UNCONSTRAINED: "true", "note": "b"})
    found = profile().apply_to(said)
    assert found["metadata"]["labels"] == {QUEUE: "train", "team": "a"}
    assert found["spec"]["template"]["metadata"]["annotations"] == {UNCONSTRAINED: "true", "note": "b"}


def test_another_queue_is_a_conflict() -> None:
    with pytest.raises(ProfileConflictError) as caught:
        profile().apply_to(job({QUEUE: "other"}))
    assert str(caught.value) == (
        f"metadata.labels[{QUEUE}]: the pod says 'other', the profile needs 'train'; remove it from the pod"
    )


@pytest.mark.parametrize("theirs", [{UNCONSTRAINED: "false"}, {REQUIRED: "rack"}, {PREFERRED: "rack"}])
def test_another_placement_is_a_conflict(theirs: dict[str, str]) -> None:
    """Kueue takes one of the three, and its webhook refuses a Job with two."""
    ((key, value),) = theirs.items()
    with pytest.raises(ProfileConflictError) as caught:
        profile().apply_to(job(annotations=theirs))
    assert str(caught.value).startswith(
        f"spec.template.metadata.annotations[{key}]: the pod says '{value}', the profile needs "
    )


def test_the_profile_as_data_says_so() -> None:
    assert profile(topology_levels=["rack"]).to_dict()["admission"] == {
        "nodeSelector": {"pool": "train", "gpufabric.dev/validated": "pass"},
        "jobLabels": {QUEUE: "train"},
        "podAnnotations": {PREFERRED: "rack"},
    }
