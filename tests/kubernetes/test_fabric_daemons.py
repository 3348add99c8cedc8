"""FabricDaemons: pinned device plugins, on the nodes that have the hardware, held ones too."""

from typing import Any

import pytest

from gpufabric.hardware.daemons import daemons
from gpufabric.kubernetes.fabric_daemons import FabricDaemons
from gpufabric.spec import SpecError
from tests.kubernetes.mocked import Recording, run

BOTH = {"daemons": ["aws-efa-device-plugin", "nvidia-device-plugin"]}


def plugins(args: Any, **how: Any) -> Recording:
    return run(lambda: FabricDaemons("fabric", args), **how)


def pods(made: Recording) -> dict[str, dict[str, Any]]:
    return {each.inputs["metadata"]["name"]: each.inputs["spec"]["template"]["spec"] for each in made.of("DaemonSet")}


def test_the_images_are_those_of_the_table_unless_a_mirror_is_named() -> None:
    images = {name: row.image for name, row in daemons().items()}
    mirror = "registry.example/mirror/efa:v0.5.20"
    made = plugins({**BOTH, "images": {"aws-efa-device-plugin": mirror}})
    found = {name: pod["containers"][0]["image"] for name, pod in pods(made).items()}
    assert found == {**images, "aws-efa-device-plugin": mirror}
    assert all(":v" in image for image in images.values()), "a version is part of every one"


def test_they_run_only_where_the_hardware_is() -> None:
    where = {
        name: pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for name, pod in pods(plugins(BOTH)).items()
    }
    assert where == {
        "aws-efa-device-plugin": [{"matchExpressions": [{"key": "gpufabric.dev/fabric", "operator": "In", "values": ["efa"]}]}],
        "nvidia-device-plugin": [{"matchExpressions": [{"key": "gpufabric.dev/node-group", "operator": "Exists"}]}],
    }


def test_they_run_on_held_and_on_gpu_nodes() -> None:
    for pod in pods(plugins(BOTH)).values():
        tolerated = {each["key"]: (each["operator"], each.get("effect")) for each in pod["tolerations"]}
        assert tolerated["gpufabric.dev/hold"] == ("Exists", "NoSchedule")
        assert tolerated["nvidia.com/gpu"] == ("Exists", "NoSchedule")
        assert pod["priorityClassName"] == "system-node-critical"


def test_no_pod_of_a_vendors_image_carries_a_token_and_only_efa_is_privileged() -> None:
    found = pods(plugins(BOTH))
    assert {pod["automountServiceAccountToken"] for pod in found.values()} == {False}
    security = {name: pod["containers"][0]["securityContext"] for name, pod in found.items()}
    assert security["aws-efa-device-plugin"] == {"privileged": True, "runAsUser": 0}
    assert security["nvidia-device-plugin"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_every_mount_is_a_volume_and_every_daemon_sees_the_kubelets_sockets() -> None:
    for name, pod in pods(plugins(BOTH)).items():
        volumes = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"]}
        mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
        assert volumes == mounts == dict(daemons()[name].host_paths)
        assert "/var/lib/kubelet/device-plugins" in volumes.values()


def test_an_up_does_not_wait_for_nodes_that_are_not_there_yet() -> None:
    for each in plugins(BOTH).of("DaemonSet"):
        assert each.inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
        assert each.inputs["metadata"]["namespace"] == "kube-system"
        assert each.inputs["spec"]["selector"]["matchLabels"] == each.inputs["spec"]["template"]["metadata"]["labels"]


BAD = {
    "nothing": ({"daemons": []}, "fabric.daemons: no device plugin; write at least one, or leave the component out"),
    "an unknown one": (
        {"daemons": ["efa"]},
        (
            "fabric.daemons[0]: unknown device plugin 'efa'; known: aws-efa-device-plugin, nvidia-device-plugin; "
            "write one of the known names"
        ),
    ),
    "twice": (
        {"daemons": ["nvidia-device-plugin"] * 2},
        "fabric.daemons: a device plugin is listed twice; write each once",
    ),
    "an image for nothing": (
        {"daemons": ["nvidia-device-plugin"], "images": {"aws-efa-device-plugin": "registry.example/efa:1"}},
        "fabric.images.aws-efa-device-plugin: no such device plugin is asked for; add aws-efa-device-plugin to daemons",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        plugins(args, recording=recording)
    assert str(caught.value) == says
    assert recording.resources == []
