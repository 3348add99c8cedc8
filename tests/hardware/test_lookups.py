"""Looking hardware up: exactly, or with an error that helps."""

import re
from typing import Any

import pytest

from gpufabric.hardware import (
    UnknownHardwareError,
    accelerator,
    fabric,
    find_baseline,
    find_image,
    most_nodes_known,
    nccl_tests_program,
)
from gpufabric.hardware.accelerators import accelerators
from gpufabric.hardware.baselines import baselines
from gpufabric.hardware.fabrics import fabrics, machine_fabrics
from gpufabric.hardware.images import nccl_tests_images


@pytest.mark.parametrize("name", ["cpu", "A100", "A100-80GB", "H100", "H200", "B200"])
def test_accelerators_are_found_by_name(name: str) -> None:
    found = accelerator(name)
    assert found.name == name
    assert (found.pod_resource, found.most_per_node) == (("", 0) if name == "cpu" else ("nvidia.com/gpu", 8))


@pytest.mark.parametrize("name", ["ethernet", "ethernet-runpod", "infiniband", "infiniband-together"])
def test_fabrics_are_found_by_name(name: str) -> None:
    found = fabric(name)
    assert found.name == name
    assert found.tier == ("best" if found.hcas else "standard"), "RDMA is what makes a tier best"
    assert bool(found.pod_resources or found.pod_resources_per_gpu) == (found.tier == "best")
    line = "Using network IB" if found.tier == "best" else "Using network Socket"
    assert re.search(found.transport_regex, f"host:1:2 [0] NCCL INFO {line}")
    other = "Using network Socket" if found.tier == "best" else "Using network IB"
    assert not re.search(found.transport_regex, f"host:1:2 [0] NCCL INFO {other}")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UnknownHardwareError) as caught:
        accelerator("h100")
    assert (
        str(caught.value)
        == "unknown accelerator 'h100' (did you mean 'H100'?); known: A100, A100-80GB, B200, B300, H100, H200, L4, L40S, cpu"
    )
    with pytest.raises(UnknownHardwareError) as caught:
        fabric("infinband")
    known = "ethernet, ethernet-runpod, infiniband, infiniband-together"
    assert str(caught.value) == f"unknown fabric 'infinband' (did you mean 'infiniband'?); known: {known}"


def test_a_name_is_never_matched_by_prefix() -> None:
    for name in ("H10", "H100-80GB", "h100", "H100 ", ""):
        with pytest.raises(UnknownHardwareError):
            accelerator(name)


def test_baselines_speak_of_hardware_that_is_known() -> None:
    for row in baselines():
        assert set(row.fabrics) <= {*fabrics(), *machine_fabrics()}
        for name in row.accelerators:
            assert 0 < row.per_node <= accelerators()[name].most_per_node
        if row.healthy_busbw_gbytes_per_s:
            assert row.floor_busbw_gbytes_per_s < row.healthy_busbw_gbytes_per_s[0], "a healthy cluster would fail"


HELD: dict[str, Any] = {"fabric": "infiniband", "accelerator": "H100", "per_node": 8, "nodes": 2, "collective": "all_reduce"}


def test_a_baseline_is_found_for_exactly_its_hardware() -> None:
    found = find_baseline(**HELD)
    assert found is not None
    assert (found.floor_busbw_gbytes_per_s, found.size, found.most_nodes) == (300, "8G", 2)


@pytest.mark.parametrize(("nodes", "held_to"), [(1, 1), (2, 2), (3, 8), (8, 8)])
@pytest.mark.parametrize("accelerator", ["H100", "H200"])
def test_a_group_is_held_to_the_smallest_row_that_holds_it(accelerator: str, nodes: int, held_to: int) -> None:
    found = find_baseline(**{**HELD, "accelerator": accelerator, "nodes": nodes})
    assert found is not None
    assert found.most_nodes == held_to


def test_the_order_of_the_table_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    backwards = tuple(reversed(baselines()))
    found = {nodes: find_baseline(**{**HELD, "nodes": nodes}) for nodes in range(1, 10)}
    monkeypatch.setattr("gpufabric.hardware.baselines.baselines", lambda: backwards)
    assert {nodes: find_baseline(**{**HELD, "nodes": nodes}) for nodes in range(1, 10)} == found


def test_no_hardware_has_two_rows_for_the_same_number_of_nodes() -> None:
    keys = [
        (fabric, each, row.per_node, row.collective, row.most_nodes)
        for row in baselines()
        for fabric in row.fabrics
        for each in row.accelerators
    ]
    assert len(set(keys)) == len(keys)


def test_inside_one_node_a_faster_machine_is_held_to_more() -> None:
    floors = {
        name: row.floor_busbw_gbytes_per_s
        for name in ("A100", "A100-80GB", "H100", "H200", "B200")
        if (row := find_baseline(**{**HELD, "accelerator": name, "nodes": 1}))
    }
    assert floors == {"A100": 205, "A100-80GB": 205, "H100": 324, "H200": 324, "B200": 613}


def test_the_table_says_how_far_it_reaches() -> None:
    hardware = {key: value for key, value in HELD.items() if key != "nodes"}
    assert most_nodes_known(**hardware) == 8
    assert most_nodes_known(**{**hardware, "accelerator": "B200"}) == 1
    assert most_nodes_known(**{**hardware, "per_node": 4}) == 0


@pytest.mark.parametrize(
    "other",
    [
        {"fabric": "ethernet"},  # the accelerator alone says nothing (NVIDIA/aicr issue 1256)
        {"fabric": "an explicit profile"},
        {"accelerator": "A100"},  # known for one node only
        {"per_node": 4},
        {"nodes": 9},
        {"collective": "all_gather"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_no_baseline_is_stretched(other: dict[str, Any]) -> None:
    assert find_baseline(**{**HELD, **other}) is None


def test_the_same_gpus_on_other_fabrics_have_rows_of_their_own() -> None:
    found = find_baseline(**{**HELD, "fabric": "infiniband-together"})
    assert found is not None
    assert found.fabrics == ("infiniband-together",)
    assert find_baseline(**{**HELD, "fabric": "infiniband-together", "accelerator": "H200"}) is None


COREWEAVE = "/opt/nccl_tests/build/all_reduce_perf"


@pytest.mark.parametrize(
    ("image", "program"),
    [
        ("ghcr.io/coreweave/nccl-tests", COREWEAVE),
        ("ghcr.io/coreweave/nccl-tests:13.0.1-devel", COREWEAVE),
        (f"ghcr.io/coreweave/nccl-tests@sha256:{'0' * 64}", COREWEAVE),
        (f"ghcr.io/coreweave/nccl-tests:13.0@sha256:{'0' * 64}", COREWEAVE),
        ("public.ecr.aws/hpc-cloud/nccl-tests:cuda12", "/opt/nccl-tests/build/all_reduce_perf"),
        ("mirror.example:5000/coreweave/nccl-tests:13.0", "all_reduce_perf"),
        ("localhost:5000/nccl-tests", "all_reduce_perf"),
        ("coreweave/nccl-tests:13.0", "all_reduce_perf"),
        ("ghcr.io/coreweave/nccl-tests-fork:1", "all_reduce_perf"),
        ("", "all_reduce_perf"),
    ],
)
def test_the_benchmark_is_found_by_repository(image: str, program: str) -> None:
    assert nccl_tests_program(image, "all_reduce") == program


def test_known_images_hold_absolute_paths() -> None:
    for name, row in nccl_tests_images().items():
        assert row.program.startswith("/"), name
        assert row.program.count("{}") == 1, name
        assert row.mpirun is None or re.fullmatch(r"/.*/mpirun", row.mpirun), name
        assert ":" not in name.rpartition("/")[2], "a key has no tag"


def test_what_is_not_known_of_an_image_is_not_guessed() -> None:
    ngc = find_image("nvcr.io/nvidia/pytorch:26.01-py3")
    coreweave = find_image("ghcr.io/coreweave/nccl-tests:13.2.1")
    aws = find_image("public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1")
    assert ngc is not None
    assert coreweave is not None
    assert aws is not None
    assert (ngc.sshd, ngc.python_3_11, ngc.mpirun) == (False, None, None)
    assert (coreweave.sshd, coreweave.python_3_11, coreweave.mpirun) == (True, None, "/opt/hpcx/ompi/bin/mpirun")
    assert (aws.sshd, aws.python_3_11, aws.mpirun) == (True, False, "/opt/amazon/openmpi/bin/mpirun")
    assert find_image("registry.example/mirror/nvidia/pytorch:26.01-py3") is None
