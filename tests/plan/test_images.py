"""An image known to lack what the gate needs is refused before anything starts; what is not known is not held against it."""

from typing import Any

import pytest

from tests.spec.specs import CPU, GONE, H100, changed, plan_of, problems

NGC = "nvcr.io/nvidia/pytorch:26.01-py3"
COREWEAVE = "ghcr.io/coreweave/nccl-tests:13.2.1"
AWS = "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1"
GIB = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib-diagnostic:v1.1.1"


def explicit(ranks: str, gate: str = "ghcr.io/acme/gate:1.2") -> dict[str, Any]:
    """A group whose ranks run in an image of their own."""
    profile = {"hcas": ["mlx5"], "image": ranks}
    return changed(H100, group__fabric=GONE, group__profile=profile, validation__image=gate, validation__floor_gbytes_per_s=300)


def test_ngc_pytorch_has_no_sshd_and_the_error_says_what_has() -> None:
    (found,) = problems(changed(H100, validation__image=NGC))
    assert found == (
        f"validation.image: {NGC} has no sshd: mpirun starts the ranks of the nccl backend over ssh; build one from it with "
        "the package openssh-server, or name an image that has it (ghcr.io/coreweave/nccl-tests, "
        "public.ecr.aws/hpc-cloud/nccl-tests) (measured, NVIDIA/cloudai issue 720: worker pods of 25.06-py3 find no sshd; "
        "the benchmark's path is not confirmed for every tag, 2026-11)"
    )


def test_the_image_of_the_ranks_is_the_one_that_needs_sshd() -> None:
    (found,) = problems(explicit(NGC))
    assert found.startswith(f"node_groups[0].profile.image: {NGC} has no sshd: ")
    assert problems(explicit(COREWEAVE, gate=NGC)) == [], "coordinator and judge need no sshd"


def test_the_image_of_the_gate_is_the_one_that_needs_python() -> None:
    (found,) = problems(changed(H100, validation__image=AWS))
    assert found.startswith(f"validation.image: {AWS} has no Python 3.11: coordinator and judge run in it; ")
    assert "write this one as validation.rank_image" in found
    assert problems(explicit(AWS)) == [], "ranks need no Python"
    assert problems(changed(H100, validation__rank_image=AWS)) == [], "and the baseline of the named fabric still holds"


def test_a_rank_image_for_all_groups_keeps_the_named_fabric_and_its_baseline() -> None:
    plan = plan_of(changed(H100, validation__rank_image=COREWEAVE)).groups[0]
    assert plan.floor.source.startswith("from the baseline table")
    images = {each["name"]: each["image"] for each in plan.gate.gate.rank_job["spec"]["template"]["spec"]["containers"]}
    assert images == {"rank": COREWEAVE, "judge": "ghcr.io/acme/gate:1.2"}
    assert plan.gate.gate.image == COREWEAVE
    (found,) = problems(changed(H100, validation__rank_image=NGC))
    assert found.startswith(f"validation.rank_image: {NGC} has no sshd: ")


def test_the_image_of_a_group_goes_before_that_of_all() -> None:
    spec = {**explicit(COREWEAVE)}
    spec["validation"] = {**spec["validation"], "rank_image": NGC}
    assert problems(spec) == []
    assert plan_of(spec).groups[0].gate.gate.image == COREWEAVE


def test_between_cpus_the_table_of_nccl_tests_images_asks_for_no_sshd() -> None:
    assert problems(changed(CPU, validation__image=NGC)) == []


@pytest.mark.parametrize("image", [COREWEAVE, GIB, "ghcr.io/acme/pytorch:26.01-py3", "mirror.example/nvidia/pytorch:26.01-py3"])
def test_what_is_not_known_to_be_missing_is_accepted(image: str) -> None:
    assert problems(explicit(image)) == []


@pytest.mark.parametrize(
    ("image", "program"),
    [(COREWEAVE, "/opt/nccl_tests/build/all_reduce_perf"), (GIB, "/third_party/nccl-tests/build/all_reduce_perf")],
)
def test_the_benchmark_is_started_by_its_path_in_the_image(image: str, program: str) -> None:
    rank_job = plan_of(explicit(image)).groups[0].gate.gate.rank_job
    (rank,) = (each for each in rank_job["spec"]["template"]["spec"]["containers"] if each["name"] == "rank")
    commands = [each["value"] for each in rank["env"] if each["name"] == "GATE_BENCHMARK"]
    assert [command.split()[0] for command in commands] == [program]
