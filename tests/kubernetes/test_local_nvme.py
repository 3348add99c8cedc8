"""Local NVMe as a component: what it creates, the policy before the right, and that a wrong wish makes nothing."""

from typing import Any, cast

import pytest

from gpufabric.kubernetes import LocalNvme
from tests.kubernetes.mocked import Recording, run
from tests.kubernetes.refused import begin, refused
from tests.plan.local_nvme.wishes import NVME


def made(**change: Any) -> Recording:
    return run(lambda: LocalNvme("nvme", cast(Any, {**NVME, **change})))


def test_the_children() -> None:
    recording = made()
    component = recording.one("LocalNvme")
    assert {each.name: each.inputs["metadata"]["name"] for each in recording.resources if each.parent == component.label} == {
        "nvme-account": "nvme-train",
        "nvme-cluster-role": "gpufabric-dev-nvme-train",
        "nvme-cluster-role-binding": "gpufabric-dev-nvme-train",
        "nvme-daemon-set": "nvme-train",
        "nvme-namespace": "gpufabric-dev-nvme-train",
        "nvme-policy": "gpufabric-dev-nvme-train",
        "nvme-policy-binding": "gpufabric-dev-nvme-train",
        "nvme-programs": "nvme-train",
    }
    (namespace,) = recording.of("Namespace")
    assert namespace.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_nobody_may_patch_a_node_before_the_policy_is_there() -> None:
    """And when all goes, the right goes first."""
    recording = made()
    (binding,) = recording.of("ClusterRoleBinding")
    assert "ValidatingAdmissionPolicyBinding" in " ".join(binding.options["dependencies"])
    (role,) = recording.of("ClusterRole")
    assert role.inputs["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}]
    (daemon_set,) = recording.of("DaemonSet")
    for kind in ("ValidatingAdmissionPolicyBinding", "ConfigMap", "ServiceAccount", "ClusterRoleBinding"):
        assert kind in " ".join(daemon_set.options["dependencies"]), kind


def test_the_programs_are_all_that_run_and_find_each_other() -> None:
    (programs,) = made().of("ConfigMap")
    data = programs.inputs["data"]
    assert {"local_nvme.disks.sh", "local_nvme.agent.py", "validation.api.py"} <= data.keys()
    imported = {
        line.split()[1].removeprefix("gpufabric.")
        for text in data.values()
        for line in text.splitlines()
        if line.startswith("from gpufabric.")
    }
    assert {f"{each}.py" for each in imported if "." in each} - data.keys() - {"local_nvme.py"} == set()


def test_an_existing_namespace_stays_as_it_is() -> None:
    recording = made(namespace="ml")
    assert recording.of("Namespace") == []
    (daemon_set,) = recording.of("DaemonSet")
    assert daemon_set.inputs["metadata"]["namespace"] == "ml"
    (binding,) = recording.of("ClusterRoleBinding")
    assert binding.inputs["subjects"][0]["namespace"] == "ml"


def test_a_storage_class_only_for_those_who_ask() -> None:
    assert made().of("StorageClass") == []
    (found,) = made(local_volume=True).of("StorageClass")
    assert found.inputs["metadata"]["name"] == "gpufabric-dev-nvme-train"
    assert found.inputs["provisioner"] == "kubernetes.io/no-provisioner"
    assert found.inputs["volumeBindingMode"] == "WaitForFirstConsumer"


def test_the_outputs() -> None:
    outputs = made().one("LocalNvme").outputs
    assert outputs is not None
    assert outputs["daemon_set"] == "id-of-nvme-daemon-set"
    assert outputs["cache_path"] == "/mnt/gpufabric/nvme/cache"
    assert outputs["pod"]["volume"]["hostPath"]["type"] == "Directory"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"disk_image": "disks:latest"}, "nvme.disk_image: disks:latest is not pinned"),
        ({"wipe": ["/dev/sda"]}, "nvme.wipe: '/dev/sda' may be another disk after a reboot"),
    ],
)
def test_refused_before_anything_is_registered(change: dict[str, Any], says: str) -> None:
    def declare(recording: Recording) -> object:
        return run(lambda: LocalNvme("nvme", cast(Any, {**NVME, **change})), recording=recording)

    assert begin(refused(declare), [says])
