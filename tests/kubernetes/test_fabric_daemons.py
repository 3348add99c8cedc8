"""FabricDaemons: pinned device plugins, on the nodes that have the hardware, held ones too."""

from typing import Any

import pytest

from gpufabric.hardware.daemons import daemons, daemons_for
from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.kubernetes.fabric_daemons import FabricDaemons
from tests.kubernetes.mocked import Recording, run
from tests.kubernetes.refused import refused

BOTH = {"daemons": ["aws-efa-device-plugin", "nvidia-device-plugin"]}


def plugins(args: Any, **how: Any) -> Recording:
    return run(lambda: FabricDaemons("fabric", args), **how)


def pods(made: Recording) -> dict[str, dict[str, Any]]:
    return {each.inputs["metadata"]["name"]: each.inputs["spec"]["template"]["spec"] for each in made.of("DaemonSet")}


def test_the_images_are_those_of_the_table_unless_a_mirror_is_named() -> None:
    images = {name: daemons()[name].image for name in BOTH["daemons"]}
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


INSTALLERS = [name for name, row in daemons().items() if row.installs]


def test_an_installer_copies_in_its_plugins_image_and_then_only_stays() -> None:
    for name, pod in pods(plugins({"daemons": INSTALLERS})).items():
        row = daemons()[name]
        *_, install = pod["initContainers"]
        assert {each["image"] for each in pod["initContainers"]} == {fabric_pods()[row.installs].plugin}
        assert install["command"][:2] == ["/bin/sh", "-c"]
        assert install["command"][2].startswith("#!/bin/sh\n")
        (stays,) = pod["containers"]
        assert "/pause:" in stays["image"]
        assert stays["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert pod["tolerations"] == [{"operator": "Exists"}]


def test_what_an_installer_sees_is_a_volume_and_where_pods_look_for_it() -> None:
    """The folders of the node that pods mount are those that the installer writes to."""
    for name, pod in pods(plugins({"daemons": INSTALLERS})).items():
        row = daemons()[name]
        volumes = {each["name"]: each["hostPath"] for each in pod["volumes"]}
        mounts = {each["name"] for step in pod["initContainers"] for each in step["volumeMounts"]}
        assert mounts == volumes.keys()
        assert {each["type"] for each in volumes.values()} == {"DirectoryOrCreate"}
        folders = fabric_pods()[row.installs].host_paths
        asked = {path for volume, path in folders.items() if volume in ("nccl-libraries", "gib")}
        assert all(any(path.startswith(each["path"]) for each in volumes.values()) for path in asked)


def test_what_an_installer_does_on_the_node_it_does_before_in_the_nodes_own_namespaces() -> None:
    for name, pod in pods(plugins({"daemons": INSTALLERS})).items():
        row = daemons()[name]
        on_node = [each for each in pod["initContainers"] if each["command"][0] == "nsenter"]
        assert bool(on_node) == bool(row.host_script)
        for step in on_node:
            assert step is pod["initContainers"][0]
            assert step["command"][:4] == ["nsenter", "--all", "--target", "1"]
            assert pod["hostPID"] is True
            assert step["securityContext"]["privileged"] is True


def test_a_mirror_of_an_installer_is_what_it_installs() -> None:
    mirror = "registry.example/mirror/tcpxo:v1.0.15@sha256:" + "0" * 64
    made = plugins({"daemons": ["nccl-tcpxo-installer"], "images": {"nccl-tcpxo-installer": mirror}})
    pod = pods(made)["nccl-tcpxo-installer"]
    assert {each["image"] for each in pod["initContainers"]} == {mirror}
    assert "/pause:" in pod["containers"][0]["image"]


def test_a_fabrics_daemons_are_those_of_its_label() -> None:
    assert daemons_for(["gpudirect-tcpxo"]) == ("nccl-tcpxo-installer", "nri-device-injector")
    assert daemons_for(["gib"]) == ("nccl-rdma-installer",)
    assert daemons_for(["gpudirect-tcpx", "gpudirect-tcpxo"]) == (
        "nccl-tcpx-installer",
        "nccl-tcpxo-installer",
        "nri-device-injector",
    )


def test_every_fabric_with_pod_parts_has_an_installer_and_an_injector_for_its_sidecar() -> None:
    for name, row in fabric_pods().items():
        of_fabric = daemons_for([name])
        assert [each for each in of_fabric if daemons()[each].installs == name]
        assert ("nri-device-injector" in of_fabric) == bool(row.sidecar)


BAD = {
    "nothing": ({"daemons": []}, "fabric.daemons: no device plugin; write at least one, or leave the component out"),
    "an unknown one": (
        {"daemons": ["efa"]},
        (
            "fabric.daemons[0]: unknown device plugin 'efa'; known: aws-efa-device-plugin, nccl-rdma-installer, "
            "nccl-tcpx-installer, nccl-tcpxo-installer, nri-device-injector, nvidia-device-plugin; write one of the known names"
        ),
    ),
    "twice": (
        {"daemons": ["nvidia-device-plugin"] * 2},
        "fabric.daemons: a device plugin is listed twice; write each once",
    ),
    "a plugin that the sidecar does not know": (
        {"daemons": ["nccl-tcpxo-installer"], "images": {"nccl-tcpxo-installer": "registry.example/tcpxo:v1.0.14"}},
        (
            "fabric.images.nccl-tcpxo-installer: registry.example/tcpxo:v1.0.14 is not v1.0.15, and the sidecar of the pods "
            "(us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21) works with that alone; "
            "mirror us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15 "
            "(vendor, gpudirect-tcpxo of container-engine-accelerators 992db81, 2026-06)"
        ),
    ),
    "an image for nothing": (
        {"daemons": ["nvidia-device-plugin"], "images": {"aws-efa-device-plugin": "registry.example/efa:1"}},
        "fabric.images.aws-efa-device-plugin: no such device plugin is asked for; add aws-efa-device-plugin to daemons",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    assert refused(lambda recording: plugins(args, recording=recording)) == says.split("\n")
