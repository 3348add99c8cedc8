"""The plan of local NVMe: which disks, who may do what, what waits for the file system, and every wish that is refused."""

from typing import Any

import pytest

from gpufabric.hardware.local_nvme import nvme_models
from gpufabric.hardware.machines import machines
from gpufabric.local_nvme import contract
from gpufabric.plan import resolve
from gpufabric.plan.daemons import TOLERATIONS
from gpufabric.plan.local_nvme import LocalNvmePlan, resolve_local_nvme
from gpufabric.spec import SpecError, TrainingSpec
from gpufabric.spec.local_nvme import LocalNvmeSpec
from tests.plan.local_nvme.wishes import NVME
from tests.spec.specs import H100, changed

IMAGES = {"disk_image": "ghcr.io/acme/disks:1"}
ON_AWS: dict[str, Any] = {"fabric": None, "machine_type": "p5.48xlarge"}


def plan(**change: Any) -> LocalNvmePlan:
    return resolve_local_nvme(LocalNvmeSpec.parse({**NVME, **change}), "dev")


def pod(**change: Any) -> dict[str, Any]:
    found: dict[str, Any] = plan(**change).daemon_set_spec["template"]["spec"]
    return found


def containers(**change: Any) -> dict[str, Any]:
    return {each["name"]: each for each in pod(**change)["containers"]}


def command(**change: Any) -> list[str]:
    found: list[str] = containers(**change)["disks"]["command"]
    return found


def test_the_default_folder_is_the_contracts() -> None:
    assert LocalNvmeSpec.model_fields["node_path"].default == contract.NODE_PATH


def test_disks_are_found_by_the_model_of_every_cloud() -> None:
    models = [model for row in nvme_models().values() for model in row.models]
    assert command() == [*contract.DISKS_COMMAND, "/mnt/gpufabric/nvme", "-", *(w for m in models for w in ("--model", m))]
    assert not [each for each in models if "Elastic Block" in each or each.endswith("-pd")]


def test_whoever_names_disks_gets_those_alone() -> None:
    devices = ["/dev/disk/by-id/nvme-SAMSUNG_MZQL2*"]
    wipe = ["/dev/disk/by-id/nvme-SAMSUNG_MZQL2_S1"]
    said = command(devices=devices, wipe=wipe, disks=8)[2:]
    assert said == ["/mnt/gpufabric/nvme", "8", "--device", *devices, "--wipe", *wipe]


def test_only_who_has_no_token_is_privileged() -> None:
    made, disks, agent = pod(), containers()["disks"], containers()["agent"]
    assert made["automountServiceAccountToken"] is False
    assert not {"hostPID", "hostNetwork", "hostIPC"} & made.keys()
    assert disks["securityContext"]["privileged"] is True
    assert "token" not in [each["name"] for each in disks["volumeMounts"]]
    assert agent["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert agent["securityContext"]["runAsNonRoot"] is True
    assert [each["name"] for each in agent["volumeMounts"] if not each.get("readOnly")] == []
    assert [each["name"] for each in disks["volumeMounts"] if each.get("readOnly")] == ["proc", "programs"]


def test_what_is_mounted_shows_on_the_node_and_in_the_agent() -> None:
    how = {name: each["volumeMounts"][0] for name, each in containers().items()}
    assert {name: (each["mountPath"], each["mountPropagation"]) for name, each in how.items()} == {
        "disks": ("/mnt/gpufabric", "Bidirectional"),
        "agent": ("/mnt/gpufabric", "HostToContainer"),
    }
    volumes = {each["name"]: each for each in pod()["volumes"]}
    assert volumes["node"]["hostPath"] == {"path": "/mnt/gpufabric", "type": "DirectoryOrCreate"}


def test_no_file_of_the_container_is_left_in_the_nodes_dev() -> None:
    assert not containers()["disks"]["terminationMessagePath"].startswith("/dev")


def test_closed_nodes_are_made_ready_too() -> None:
    own = {"key": "acme.example/train", "operator": "Exists", "effect": "NoSchedule"}
    assert pod(tolerates=["acme.example/train"])["tolerations"] == [*map(dict, TOLERATIONS), own]


def test_pods_wait_for_a_folder_that_only_the_file_system_has() -> None:
    made = plan().pod.apply_to({"containers": [{"name": "train"}]})
    (volume,) = made["volumes"]
    assert volume["hostPath"] == {"path": "/mnt/gpufabric/nvme/scratch", "type": "Directory"}
    assert made["containers"][0]["volumeMounts"] == [{"name": volume["name"], "mountPath": "/scratch"}]
    assert plan().pod.to_dict()["files"] == "/scratch"
    assert plan().cache_path == "/mnt/gpufabric/nvme/cache"


def test_the_account_is_held_to_one_label_of_its_own_node() -> None:
    policy = plan().node_policy
    assert policy["matchConditions"][0]["expression"] == (
        "request.userInfo.username in ['system:serviceaccount:gpufabric-dev-nvme-train:nvme-train']"
    )
    said = {each["message"].removeprefix("gpufabric's agent of local disks ") for each in policy["validations"]}
    assert said == {
        "may change only the label gpufabric.dev/local-nvme-gib of a node",
        "may not change annotations of a node",
        "may not change taints of a node",
        "may not cordon or uncordon a node",
        "may not change finalizers of a node",
        "may not change owners of a node",
        "may change only the node that it runs on",
    }
    assert policy["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"disk_image": "disks:latest"}, "disk_image: disks:latest is not pinned"),
        ({"image": "gate"}, "image: gate is not pinned"),
        ({"disks": 0}, "disks: 0 is out of range; write a number from 1 up"),
        ({"disks": 1, "devices": ["/dev/nvme1n1", "/dev/nvme2n1"]}, "disks: devices names more than 1"),
        ({"devices": ["nvme1n1"]}, "devices: 'nvme1n1' is no path of a disk"),
        ({"devices": ["/dev/../etc/passwd"]}, "devices: '/dev/../etc/passwd' is no path of a disk"),
        ({"devices": ["/dev/nvme1n1; reboot"]}, "devices: '/dev/nvme1n1; reboot' is no path of a disk"),
        ({"wipe": ["/dev/nvme1n1"]}, "wipe: '/dev/nvme1n1' may be another disk after a reboot"),
        ({"node_path": "/nvme"}, "node_path: /nvme is no place for a disk"),
        ({"node_path": "/etc/nvme"}, "node_path: /etc/nvme is no place for a disk"),
        ({"pod_path": "/usr"}, "pod_path: /usr is empty in no image"),
        ({"node_selector": {}}, "node_selector: empty"),
    ],
)
def test_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        plan(**change)
    assert str(caught.value).startswith(says)


def stack(asked: dict[str, Any], **group: Any) -> dict[str, LocalNvmeSpec]:
    raw = changed(H100, local_nvme=asked)
    first = {**raw["node_groups"][0], **group}
    raw["node_groups"] = [{key: value for key, value in first.items() if value is not None}]
    return dict(resolve(TrainingSpec.parse(raw), "dev").local_nvme)


def test_a_stack_asks_by_group_and_the_group_says_the_rest() -> None:
    assert stack({}) == {}
    wish = stack({"train": IMAGES}, tolerates=["acme.example/train"])["train"]
    group = H100["node_groups"][0]
    assert (wish.name, wish.node_selector) == ("train", group["node_selector"])
    assert (wish.image, wish.disks, wish.tolerates) == (H100["validation"]["image"], None, ["acme.example/train"])


def test_a_machine_of_the_table_says_how_many_disks_there_are() -> None:
    known = machines()["p5.48xlarge"].local_disks
    assert known > 1
    assert stack({"train": IMAGES}, **ON_AWS)["train"].disks == known
    with pytest.raises(SpecError, match=rf"local_nvme\.train\.disks: p5\.48xlarge has {known} local disks; leave it out"):
        stack({"train": {**IMAGES, "disks": 1}}, **ON_AWS)


def test_a_stack_mounts_where_the_group_says_its_disk_is() -> None:
    disk = {"path": "/mnt/nvme", "size_gib": 28000}
    assert stack({"train": IMAGES})["train"].node_path == contract.NODE_PATH
    assert stack({"train": IMAGES}, local_disk=disk)["train"].node_path == "/mnt/nvme"
    with pytest.raises(SpecError, match=r"node_groups\[0\]\.local_disk\.path: /nvme is no place for a disk"):
        stack({"train": IMAGES}, local_disk={**disk, "path": "/nvme"})


def test_a_stack_says_every_problem() -> None:
    with pytest.raises(SpecError) as caught:
        stack({"tarin": IMAGES, "train": {"disk_image": "disks:latest"}})
    first, second = str(caught.value).split("\n")
    assert first == "local_nvme.tarin: no such node group; write one of train"
    assert second.startswith("local_nvme.train.disk_image: disks:latest is not pinned: ")
