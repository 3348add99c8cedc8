"""What will be built and why, in words."""

import pytest

from gpufabric.plan import explain
from tests.spec.specs import CPU, GONE, H100, changed, plan_of


def said(spec: dict[str, object]) -> dict[str, tuple[str, str]]:
    ((_, lines),) = explain(plan_of(spec))
    assert len({line.subject for line in lines}) == len(lines)
    return {line.subject: (line.decision, line.why) for line in lines}


def test_eight_h100_on_infiniband() -> None:
    ((title, _),) = explain(plan_of(H100))
    assert title == "train: 2 nodes of H100:8 on infiniband"
    lines = said(H100)
    assert lines["nodes"] == ("exactly 2 nodes labelled pool=train", "they exist; no machine is created")
    assert lines["fabric"] == (
        "infiniband (tier best)",
        "vendor, coreweave/nccl-tests manifests, 2026-05: rdma/ib: 1, NCCL_IB_HCA=ibp, 2026-05",
    )
    assert lines["pod profile"] == ("nvidia.com/gpu: 8, rdma/ib: 1", "the same in the gate and in every job")
    assert lines["environment"] == ("NCCL_IB_HCA=ibp, NCCL_SOCKET_IFNAME=eth0", "set in every job")
    health = lines["node health"][0]
    begins = "before any network run, on every node; each of these fails the gate: gpu_driver, gpu_count, nvlink, "
    assert health.startswith(begins)
    assert health.endswith("; only said: pcie, persistence")
    assert lines["health limits"][0] == (
        "8 GPUs, 18 NVLinks per GPU, at most 0 uncorrected ECC errors, XIDs of the last 7200 s, dcgmi diag level 1, "
        "8 adapters, 400 Gbit/s per port, shared memory of 1024 MiB, interface eth0"
    )
    assert lines["image of the ranks"] == (
        "ghcr.io/acme/gate:1.2",
        "what was validated is the fabric, not the image of your jobs",
    )
    inside, source = lines["inside a node"]
    assert inside == "all_reduce of 8 GiB among 8 GPUs of one node, at most 120 s, at least 324 GB/s"
    assert source.startswith("from the baseline table: derived, NVLink 4 in one node")
    assert lines["measurement"][0] == "all_reduce up to 8 GiB over 16 ranks (backend nccl)"
    assert lines["floor"][0] == "300 GB/s bus bandwidth"
    assert lines["floor"][1].startswith("from the baseline table: derived, ")
    assert lines["transport"][0] == r"a line matching /Using network (IB|IBext_v\d+)/"
    assert lines["admission"][0] == "jobs run only on nodes labelled gpufabric.dev/validated=pass"
    assert lines["deadlines"][0] == "nodes 900 s, start 900 s, benchmark 600 s; pulumi up gives up after 3970 s"
    job = plan_of(H100).groups[0].gate.gate.names.coordinator_job
    assert lines["created"] == (f"namespace gpufabric-dev-train with the gate's Job {job}", "run 1")
    assert "stand-in" not in lines, "nothing stands in for a GPU here"
    assert "between deployments" not in lines
    assert "single nodes" not in lines
    assert "single nodes" in said(changed(H100, validation__keep=True, validation__single_node_ok=True))
    kept = said(changed(H100, validation__keep=True))["between deployments"][0]
    assert kept == "the controller train-controller closes nodes that are not Ready and validates those that come later"


def test_what_becomes_of_local_disks_is_said() -> None:
    assert "local NVMe" not in said(H100)
    disks = {"path": "/mnt/nvme", "size_gib": 14000}
    group = {**H100["node_groups"][0], "local_disk": disks}
    wish = {"disk_image": "registry.example/disks:1", "disks": 8}
    spec = {**H100, "node_groups": [group], "local_nvme": {"train": wish}}
    assert said(spec)["local NVMe"] == (
        "the 8 empty NVMe disks of each node are striped, formatted (xfs) and mounted at /mnt/nvme",
        "a disk with anything on it is refused",
    )
    wiped = said({**spec, "local_nvme": {"train": {**wish, "wipe": ["/dev/disk/by-id/nvme-OLD*"]}}})["local NVMe"]
    assert wiped[1] == "what is on /dev/disk/by-id/nvme-OLD* is lost (wipe)"


def test_the_hold_is_said() -> None:
    assert said(H100)["hold"] == ("closed nodes are not tainted", "only pods with the profile's admission stay off them")
    assert said(H100)["busy nodes"][0].startswith("left as they are (outcome deferred)")
    tainted = said(changed(H100, validation__hold="taint"))["hold"][0]
    assert tainted == "closed nodes are tainted gpufabric.dev/hold:NoSchedule"


def test_cpus_say_that_they_stand_in() -> None:
    lines = said(CPU)
    assert lines["pod profile"][0] == "no device resource"
    assert "environment" not in lines
    assert "transport" not in lines, "nothing proves a transport between CPUs"
    assert lines["node health"][0] == "before any network run, on every node; each of these fails the gate: interface"
    assert lines["health limits"][0] == "interface eth0"
    assert lines["measurement"][0] == "all_reduce up to 64 MiB over 2 ranks (backend mpi)"
    assert lines["floor"] == ("0.1 GB/s bus bandwidth", "given in the spec")
    assert lines["inside a node"] == (
        "all_reduce of 1 MiB among 2 CPU processes of one node over loopback, at most 60 s",
        "no floor is known: complete, and every sum right",
    )
    assert lines["stand-in"][0].startswith("CPU processes over TCP stand in for GPUs")


@pytest.mark.parametrize(("size", "text"), [("1K", "1 KiB"), ("1500K", "1.46484 MiB"), ("16M", "16 MiB"), ("64G", "64 GiB")])
def test_sizes_are_said_in_their_unit(size: str, text: str) -> None:
    spec = changed(H100, validation__max_size=size, validation__floor_gbytes_per_s=1)
    assert said(spec)["measurement"][0] == f"all_reduce up to {text} over 16 ranks (backend nccl)"


def test_an_explicit_profile_is_given_in_the_spec() -> None:
    spec = changed(H100, group__fabric=GONE, group__profile={"hcas": ["mlx5"]}, validation__floor_gbytes_per_s=1)
    ((title, _),) = explain(plan_of(spec))
    assert title == "train: 2 nodes of H100:8 on an explicit profile"
    assert said(spec)["fabric"] == ("an explicit profile (tier best)", "given in the spec")


def test_every_group_is_explained() -> None:
    first = H100["node_groups"][0]
    spec = {**H100, "node_groups": [first, {**first, "name": "other", "node_selector": {"pool": "other"}}]}
    assert [title.partition(":")[0] for title, _ in explain(plan_of(spec))] == ["train", "other"]
