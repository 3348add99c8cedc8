"""``PodProfile.apply_to``: into any form of a pod, by structure alone, never over what the user wrote."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.plan import PodAdmission, PodFabric, PodProfile, ProfileConflictError
from gpufabric.plan.profile import GPU_TAINT
from tests.spec.specs import CPU, H100, plan_of

PROFILE = plan_of(H100).groups[0].profile
ANNOTATED = PodProfile(PodFabric(annotations={"net": "rdma"}), PodAdmission(node_selector={"pool": "train"}))
SHM = "/dev/shm"  # noqa: S108 - the pod's
PASSED = {"key": "gpufabric.dev/validated", "operator": "In", "values": ["pass"]}
Json = dict[str, Any]

POD: Json = {"containers": [{"name": "main", "image": "acme/train:1"}], "restartPolicy": "Never"}
MERGED: Json = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": "acme/train:1",
            "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/ib": "1"}},
            "env": [{"name": "NCCL_IB_HCA", "value": "ibp"}, {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}],
            "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
            "volumeMounts": [{"name": "dshm", "mountPath": SHM}],
        }
    ],
    "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    "tolerations": [dict(GPU_TAINT)],
    "nodeSelector": {"pool": "train"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [PASSED]}]}
        }
    },
}
FORMS: dict[str, Callable[[Json], Json]] = {
    "pod spec": lambda pod: pod,
    "pod": lambda pod: {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod},
    "pod template": lambda pod: {"metadata": {"labels": {"app": "x"}}, "spec": pod},
    "template without metadata": lambda pod: {"spec": pod},
    "job spec": lambda pod: {"completions": 2, "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod}},
    "job": lambda pod: {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "x"},
        "spec": {"template": {"spec": pod}},
    },
    "cron job spec": lambda pod: {"schedule": "@daily", "template": {"spec": {"template": {"spec": pod}}}},
    "replicated job of a JobSet": lambda pod: {"name": "w", "replicas": 1, "template": {"spec": {"template": {"spec": pod}}}},
}
every_form = pytest.mark.parametrize("form", list(FORMS))


def snake(value: Any) -> Any:
    """The same, as users of the Pulumi SDK may write it."""
    names = {
        "nodeSelector": "node_selector",
        "volumeMounts": "volume_mounts",
        "mountPath": "mount_path",
        "emptyDir": "empty_dir",
        "securityContext": "security_context",
        "nodeAffinity": "node_affinity",
        "requiredDuringSchedulingIgnoredDuringExecution": "required_during_scheduling_ignored_during_execution",
        "nodeSelectorTerms": "node_selector_terms",
        "matchExpressions": "match_expressions",
    }
    if isinstance(value, dict):
        return {names.get(key, key): snake(each) for key, each in value.items()}
    return [snake(each) for each in value] if isinstance(value, list) else value


def pod(**more: Any) -> Json:
    return {**copy.deepcopy(POD), **more}


def main(**more: Any) -> Json:
    return pod(containers=[{**POD["containers"][0], **more}])


@every_form
def test_every_form_of_a_pod(form: str) -> None:
    wrap = FORMS[form]
    assert PROFILE.apply_to(wrap(pod())) == wrap(MERGED)


@every_form
def test_twice_is_once(form: str) -> None:
    once = PROFILE.apply_to(FORMS[form](pod()))
    assert PROFILE.apply_to(once) == once


@every_form
def test_the_input_is_left_alone_and_shares_nothing(form: str) -> None:
    spec = FORMS[form](main(env=[{"name": "A", "value": "1"}], volumeMounts=[], resources={"limits": {"cpu": "1"}}))
    before = copy.deepcopy(spec)
    result = PROFILE.apply_to(spec)
    assert spec == before
    PROFILE.apply_to(result)["later"] = True
    _spoil(result)
    assert spec == before
    assert PROFILE.apply_to(FORMS[form](pod())) == FORMS[form](MERGED), "the profile itself was changed"


def _spoil(value: Any) -> None:
    """Change everything that can be changed in a value."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _spoil(each)
    if isinstance(value, dict):
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


@every_form
def test_annotations_stand_on_the_template(form: str) -> None:
    spec = FORMS[form](pod())
    if form == "pod spec":
        with pytest.raises(TypeError, match="annotations belong to a pod template; pass the template or the Job spec"):
            ANNOTATED.apply_to(spec)
        return
    result = ANNOTATED.apply_to(spec)
    while "containers" not in result.get("spec", {}):
        result = result.get("template") or result["spec"]
    assert result["metadata"]["annotations"] == {"net": "rdma"}


def test_snake_case_is_answered_in_snake_case() -> None:
    spec = snake(main(volumeMounts=[{"name": "data", "mountPath": "/data"}]))
    spec["volumes"] = [{"name": "data", "empty_dir": {}}]
    expected = snake(copy.deepcopy(MERGED))
    expected["containers"][0]["volume_mounts"].insert(0, {"name": "data", "mount_path": "/data"})
    expected["volumes"].insert(0, {"name": "data", "empty_dir": {}})
    assert PROFILE.apply_to(spec) == expected
    assert PROFILE.apply_to(expected) == expected


@every_form
def test_all_in_snake_case(form: str) -> None:
    wrap = FORMS[form]
    assert PROFILE.apply_to(wrap(snake(MERGED))) == wrap(snake(MERGED))


def test_mixed_spellings_never_write_a_key_twice() -> None:
    """The SDK translates snake_case; a pod with nodeSelector and node_selector would lose one of them."""
    spec = {
        "nodeSelector": {"zone": "a"},
        "containers": [{"name": "main", "volume_mounts": [], "securityContext": {"runAsUser": 0}}],
        "affinity": {"nodeAffinity": {"required_during_scheduling_ignored_during_execution": {"nodeSelectorTerms": []}}},
    }
    result = PROFILE.apply_to(spec)
    assert result["nodeSelector"] == {"zone": "a", "pool": "train"}
    assert result["containers"][0]["securityContext"] == {"runAsUser": 0, "capabilities": {"add": ["IPC_LOCK"]}}
    required = result["affinity"]["nodeAffinity"]["required_during_scheduling_ignored_during_execution"]
    assert required == {"nodeSelectorTerms": [{"match_expressions": [PASSED]}]}

    def spellings(value: Any) -> None:
        if isinstance(value, dict):
            plain = [key.replace("_", "").lower() for key in value]
            assert len(plain) == len(set(plain)), value
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            spellings(each)

    spellings(result)


def test_what_is_there_already_and_equal_is_merged() -> None:
    spec = main(
        resources={"limits": {"nvidia.com/gpu": 8, "memory": "100Gi"}, "requests": {"nvidia.com/gpu": "8", "cpu": 4}},
        env=[
            {"name": "NCCL_IB_HCA", "value": "ibp"},
            {"name": "MINE", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        securityContext={"capabilities": {"add": ["SYS_PTRACE"], "drop": ["NET_RAW"]}},
    )
    result = PROFILE.apply_to(spec)["containers"][0]
    assert result["resources"] == {
        "limits": {"nvidia.com/gpu": "8", "memory": "100Gi", "rdma/ib": "1"},
        "requests": {"nvidia.com/gpu": "8", "cpu": 4},
    }
    assert [each["name"] for each in result["env"]] == ["NCCL_IB_HCA", "MINE", "NCCL_SOCKET_IFNAME"]
    assert result["securityContext"] == {"capabilities": {"add": ["SYS_PTRACE", "IPC_LOCK"], "drop": ["NET_RAW"]}}


def test_empty_places_count_as_absent() -> None:
    spec = pod(affinity=None, nodeSelector=None, tolerations=None, volumes=None)
    spec["containers"][0] |= {"env": None, "resources": None}
    assert PROFILE.apply_to(spec) == MERGED


AT = "containers[main]"
CONFLICTS: dict[str, tuple[Json, str]] = {
    "GPUs": (
        main(resources={"limits": {"nvidia.com/gpu": 4}}),
        f"{AT}.resources.limits[nvidia.com/gpu]: the pod says 4, the profile needs '8'",
    ),
    "requested GPUs": (
        main(resources={"requests": {"nvidia.com/gpu": "4"}}),
        f"{AT}.resources.requests[nvidia.com/gpu]: the pod says '4', the profile needs '8'",
    ),
    "GPUs as true": (
        main(resources={"limits": {"rdma/ib": True}}),
        f"{AT}.resources.limits[rdma/ib]: the pod says True, the profile needs '1'",
    ),
    "environment": (
        main(env=[{"name": "NCCL_IB_HCA", "value": "mlx5_0"}]),
        f"{AT}.env[NCCL_IB_HCA]: the pod says 'mlx5_0', the profile needs 'ibp'",
    ),
    "environment from elsewhere": (
        main(env=[{"name": "NCCL_IB_HCA", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]),
        (
            f"{AT}.env[NCCL_IB_HCA]: the pod says {{'name': 'NCCL_IB_HCA', 'valueFrom': {{'configMapKeyRef': "
            "{'name': 'm', 'key': 'k'}}}, the profile needs 'ibp'"
        ),
    ),
    "another volume of that name": (
        pod(volumes=[{"name": "dshm", "hostPath": {"path": SHM}}]),
        (
            "volumes[dshm]: the pod says {'name': 'dshm', 'hostPath': {'path': '/dev/shm'}}, "
            "the profile needs {'name': 'dshm', 'emptyDir': {'medium': 'Memory'}}"
        ),
    ),
    "another mount there": (
        main(volumeMounts=[{"name": "mine", "mountPath": SHM}]),
        f"{AT}.volumeMounts[/dev/shm]: the pod says 'mine', the profile needs 'dshm'",
    ),
    "the mount elsewhere": (
        main(volumeMounts=[{"name": "dshm", "mountPath": "/shm"}]),
        (
            f"{AT}.volumeMounts[dshm]: the pod says {{'name': 'dshm', 'mountPath': '/shm'}}, "
            "the profile needs {'name': 'dshm', 'mountPath': '/dev/shm'}"
        ),
    ),
    "other nodes": (
        pod(nodeSelector={"pool": "cpu"}),
        "nodeSelector[pool]: the pod says 'cpu', the profile needs 'train'",
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_conflict_names_the_place_and_both_values(case: str) -> None:
    spec, says = CONFLICTS[case]
    with pytest.raises(ProfileConflictError) as caught:
        PROFILE.apply_to(spec)
    assert str(caught.value) == f"{says}; remove it from the pod"
    with pytest.raises(ProfileConflictError) as caught:
        PROFILE.apply_to(FORMS["job"](spec))
    assert str(caught.value) == f"spec.template.spec.{says}; remove it from the pod"


def test_a_conflict_of_annotations() -> None:
    spec = {"template": {"metadata": {"annotations": {"net": "tcp"}}, "spec": pod()}}
    with pytest.raises(ProfileConflictError) as caught:
        ANNOTATED.apply_to(spec)
    says = "template.metadata.annotations[net]: the pod says 'tcp', the profile needs 'rdma'; remove it from the pod"
    assert str(caught.value) == says


def test_alternatives_of_the_user_all_ask_for_a_pass() -> None:
    """Terms are ORed: one without our expression would let a job onto a node that failed."""
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = [{"matchExpressions": [zone]}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    preferred = [{"weight": 1, "preference": {"matchExpressions": [zone]}}]
    spec = pod(
        affinity={
            "podAffinity": {"x": 1},
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            },
        }
    )
    result = PROFILE.apply_to(spec)["affinity"]
    assert result["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [zone, PASSED]},
        {**terms[1], "matchExpressions": [PASSED]},
    ]
    assert result["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert result["podAffinity"] == {"x": 1}


def two_containers() -> Json:
    return {"containers": [{"name": "main"}, {"name": "log"}], "initContainers": [{"name": "fetch"}]}


def test_one_of_many_containers_is_chosen_by_name() -> None:
    result = PROFILE.apply_to(two_containers(), container="log")
    assert result["containers"][0] == {"name": "main"}
    assert result["containers"][1]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert result["initContainers"] == [{"name": "fetch"}]


PLAIN = "containers: a profile merges into a plain list of dicts"


@pytest.mark.parametrize(
    ("spec", "container", "error", "says"),
    [
        (two_containers(), None, ValueError, "containers: which of main, log uses the fabric? pass container=NAME"),
        (two_containers(), "x", ValueError, "containers: no container named 'x'; there are main, log"),
        ({"spec": two_containers()}, "x", ValueError, "spec.containers: no container named 'x'; there are main, log"),
        ({}, None, TypeError, f"{PLAIN}; there is none"),
        ({"spec": {"template": {}}}, None, TypeError, f"spec.template.{PLAIN}; there is none"),
        ({"containers": []}, None, TypeError, f"{PLAIN}; this is []"),
        ({"containers": {"name": "x"}}, None, TypeError, f"{PLAIN}; this is {{'name': 'x'}}"),
        (pod(affinity="x"), None, TypeError, "affinity: cannot merge into 'x'; write it as a plain dict"),
        (
            pod(tolerations={"k": 1}),
            None,
            TypeError,
            "tolerations: cannot merge into {'k': 1}; write it as a plain list",
        ),
        (main(env={"A": 1}), None, TypeError, "containers[main].env: cannot merge into {'A': 1}; write it as a plain list"),
        ("pod", None, TypeError, "a profile merges into plain dicts, not into str; pass the spec as a dict"),
        (None, None, TypeError, "a profile merges into plain dicts, not into NoneType; pass the spec as a dict"),
    ],
)
def test_what_no_profile_can_be_merged_into(spec: Any, container: str | None, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        PROFILE.apply_to(spec, container=container)
    assert str(caught.value) == says


class Opaque:
    """Stands for a value that is known only later: whoever looks into it fails."""

    def _looked(self, *_: object) -> Any:
        raise AssertionError("somebody looked into an opaque value")

    __bool__ = __len__ = __iter__ = __str__ = __repr__ = __format__ = __contains__ = __getitem__ = _looked


def test_opaque_values_pass_by_identity() -> None:
    opaque = [Opaque() for _ in range(9)]
    spec = {
        "metadata": {"labels": opaque[0]},
        "spec": {
            "serviceAccountName": opaque[1],
            "nodeSelector": {"zone": opaque[2]},
            "volumes": [opaque[3], {"name": opaque[4]}],
            "tolerations": [{"key": opaque[5]}],
            "containers": [
                {
                    "name": "main",
                    "image": opaque[6],
                    "env": [{"name": "A", "value": opaque[7]}, opaque[8]],
                    "resources": {"limits": {"memory": opaque[0]}, "requests": opaque[1]},
                }
            ],
        },
    }
    result = PROFILE.apply_to(spec)
    assert result["metadata"]["labels"] is opaque[0]
    found = result["spec"]
    assert found["serviceAccountName"] is opaque[1]
    assert found["nodeSelector"]["zone"] is opaque[2]
    assert found["volumes"][0] is opaque[3]
    assert found["volumes"][1]["name"] is opaque[4]
    assert found["tolerations"][0]["key"] is opaque[5]
    assert found["containers"][0]["image"] is opaque[6]
    assert found["containers"][0]["env"][0]["value"] is opaque[7]
    assert found["containers"][0]["env"][1] is opaque[8]
    assert found["containers"][0]["resources"]["limits"]["memory"] is opaque[0]
    assert found["containers"][0]["resources"]["requests"] is opaque[1]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (main(env=[{"name": "NCCL_IB_HCA", "value": Opaque()}]), "containers[main].env[NCCL_IB_HCA]: the pod says"),
        (main(resources={"limits": {"rdma/ib": Opaque()}}), "containers[main].resources.limits[rdma/ib]: the pod says"),
        (pod(nodeSelector={"pool": Opaque()}), "nodeSelector[pool]: the pod says"),
    ],
    ids=["env", "limits", "nodeSelector"],
)
def test_an_opaque_value_in_the_profiles_place_is_a_conflict(spec: Json, says: str) -> None:
    with pytest.raises(ProfileConflictError) as caught:
        PROFILE.apply_to(spec)
    assert str(caught.value).startswith(f"{says} a value that is no plain data (Opaque), the profile needs")


@pytest.mark.parametrize("place", ["nodeSelector", "affinity", "tolerations", "volumes"])
def test_an_opaque_value_where_the_profile_must_merge_is_an_error(place: str) -> None:
    with pytest.raises(TypeError, match=f"^{place}: cannot merge into a value that is no plain data"):
        PROFILE.apply_to(pod(**{place: Opaque()}))


def test_opaque_containers_are_an_error() -> None:
    with pytest.raises(TypeError, match="a plain list of dicts; this is a value that is no plain data"):
        PROFILE.apply_to({"containers": Opaque()})


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "key", "limits", "add", "x"]), inner, max_size=2)
    ),
    max_leaves=6,
)
pods = st.fixed_dictionaries(
    {"containers": st.just([{"name": "main"}])},
    optional={
        "nodeSelector": st.dictionaries(st.sampled_from(["zone", "pool"]), st.sampled_from(["a", "train"]), max_size=2),
        "tolerations": st.lists(st.sampled_from([dict(GPU_TAINT), {"key": "x"}]), max_size=2),
        "volumes": json_like,
        "affinity": json_like,
        "metadata": json_like,
    },
)


@settings(max_examples=150, deadline=None)
@given(pods)
def test_any_pod_is_merged_once_or_refused(spec: Json) -> None:
    before = json.dumps(spec)
    try:
        once = PROFILE.apply_to(spec)
    except (ProfileConflictError, TypeError):
        assert json.dumps(spec) == before
        return
    assert json.dumps(spec) == before
    assert PROFILE.apply_to(once) == once
    assert keeps(once, spec)


def keeps(after: Any, before: Any) -> bool:
    """Whether all that was there is still there; an empty place may have been filled."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(key in after and keeps(after[key], each) for key, each in before.items())
    if isinstance(before, list):
        return isinstance(after, list) and len(after) >= len(before) and all(map(keeps, after, before))
    return before is None or bool(after == before)


def test_a_group_of_cpus_only_asks_for_its_nodes() -> None:
    result = plan_of(CPU).groups[0].profile.apply_to(pod())
    assert result == {**POD, "nodeSelector": {"pool": "train"}, "affinity": MERGED["affinity"]}
