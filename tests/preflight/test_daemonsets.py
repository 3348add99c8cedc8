"""DaemonSets that would stay off nodes whose hold is a taint: found before the first node is closed."""

from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware import find_daemonset, needed_daemonsets
from gpufabric.preflight.daemonsets import daemonset_problems
from gpufabric.validation.contract import HOLD_TOLERATION
from tests.preflight.cluster import DAEMONSETS, FakeCluster, node
from tests.preflight.test_kubernetes import problems
from tests.spec.specs import CPU, changed

PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
MEMBERS = [node("n1", "train"), node("n2", "train")]


def daemonset(image: str = PLUGIN, namespace: str = "gpu", tolerations: Any = (GPU,), **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"image": image}], "tolerations": list(tolerations), **pod}
    return {"metadata": {"name": "plugin", "namespace": namespace}, "spec": {"template": {"spec": spec}}}


def found(*daemonsets: Any) -> list[str]:
    return [str(each) for each in daemonset_problems(daemonsets, MEMBERS)]


def test_a_device_plugin_that_stays_off_is_named_with_the_way_out() -> None:
    (line,) = found(daemonset())
    assert line == (
        "validation.hold: the DaemonSet gpu/plugin does not tolerate the hold, and closed nodes need it: it would lack "
        "nvidia.com/gpu; add the toleration {key: gpufabric.dev/hold, operator: Exists, effect: NoSchedule} to it (Helm value "
        "tolerations (with the GPU operator: daemonsets.tolerations)), or write hold: label (vendor, NVIDIA/k8s-device-plugin "
        "Helm values.yaml: CriticalAddonsOnly and nvidia.com/gpu only, 2026-11)"
    )


TOLERATES: dict[str, Any] = {
    "the hold": HOLD_TOLERATION,
    "everything": {"operator": "Exists"},
    "every NoSchedule": {"operator": "Exists", "effect": "NoSchedule"},
    "the key, whatever the effect": {"key": "gpufabric.dev/hold", "operator": "Exists"},
    "the empty value": {"key": "gpufabric.dev/hold", "effect": "NoSchedule"},
}
DOES_NOT: dict[str, Any] = {
    "another key": GPU,
    "another effect": {"operator": "Exists", "effect": "NoExecute"},
    "another value": {"key": "gpufabric.dev/hold", "operator": "Equal", "value": "x"},
    "nothing": {"operator": "Equal"},
}


@pytest.mark.parametrize("what", TOLERATES)
def test_it_tolerates(what: str) -> None:
    assert found(daemonset(tolerations=[GPU, TOLERATES[what]])) == []


@pytest.mark.parametrize("what", DOES_NOT)
def test_it_does_not(what: str) -> None:
    assert len(found(daemonset(tolerations=[DOES_NOT[what]]))) == 1


def test_those_of_kube_system_are_needed_and_others_are_not() -> None:
    (line,) = found(daemonset("acme/network:1", "kube-system"))
    assert "kube-system/plugin does not tolerate the hold, and closed nodes need it; add" in line
    assert found(daemonset("acme/logs:1", "logging")) == []


RULE = {"key": "pool", "operator": "In", "values": ["system"]}
ELSEWHERE: dict[str, Any] = {
    "node selector": {"nodeSelector": {"pool": "system"}},
    "In": RULE,
    "NotIn": {"key": "pool", "operator": "NotIn", "values": ["train"]},
    "Exists": {"key": "gpu", "operator": "Exists"},
    "DoesNotExist": {"key": "pool", "operator": "DoesNotExist"},
}


def affinity(*rules: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [rule]} for rule in rules]
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize("what", ELSEWHERE)
def test_one_that_runs_elsewhere_is_nothing_to_us(what: str) -> None:
    pod = ELSEWHERE[what] if what == "node selector" else affinity(ELSEWHERE[what])
    assert found(daemonset(**pod)) == []


def test_one_term_that_selects_the_nodes_is_enough() -> None:
    assert len(found(daemonset(**affinity(RULE, {"key": "pool", "operator": "Exists"})))) == 1
    assert len(found(daemonset(**affinity({"key": "pool", "operator": "Gt", "values": ["3"]})))) == 1, "not decided here"


def test_the_preflight_looks_only_where_nodes_are_tainted(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.nodes, cluster.daemonsets = [*MEMBERS, node("s1", "system")], [daemonset()]
    assert problems(cluster, CPU, tmp_path) == []
    assert DAEMONSETS not in {at for _, at, _ in cluster.asked}
    (line,) = problems(cluster, changed(CPU, validation__hold="taint"), tmp_path)
    assert "gpu/plugin does not tolerate the hold" in line
    cluster.denied = {"list daemonsets"}
    assert "may not list daemonsets.apps" in problems(cluster, changed(CPU, validation__hold="taint"), tmp_path)[0]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (PLUGIN, "nvidia-device-plugin"),
        ("registry.k8s.io/kube-proxy@sha256:0", "kube-proxy"),
        ("mirror:5000/x/kube-proxy:v1.34.4", "kube-proxy"),
        ("kube-proxy", "kube-proxy"),
        ("registry.k8s.io/not-kube-proxy:1", None),
        ("registry.k8s.io/nfd/node-feature-discovery:v0.18", "node-feature-discovery"),
        ("", None),
    ],
)
def test_an_image_is_known_from_any_registry(image: str, name: str | None) -> None:
    row = find_daemonset(image)
    assert (row.name if row else None) == name


def test_every_row_says_where_the_toleration_goes() -> None:
    assert all(row.toleration_at and row.images and row.does for row in needed_daemonsets().values())
