"""Stage 0 on recorded outputs: what fails a node, what is only said, and what is never taken for good."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpufabric.validation import health
from gpufabric.validation.health import examine
from gpufabric.validation.health_readings import Reading, Readings
from gpufabric.validation.health_report import Finding, Report
from gpufabric.validation.health_wish import CHECKS, FATAL, NOT_CHECKED, NOTE, WARNING, Health, Rule, Xid
from tests.validation import health_outputs as outputs
from tests.validation.health_outputs import ALL_DOWN, HEALTHY, readings

RULES = {name: Rule(FATAL, f"repair {name}") for name in CHECKS} | {"persistence": Rule(NOTE, "nvidia-persistenced")}
XIDS = {"79": Xid(FATAL, "reboot"), "154": Xid(FATAL, "recover"), "63": Xid(WARNING, "recorded"), "43": Xid("ignore", "none")}
WISH = Health(
    interface="eth0",
    gpus=8,
    nvlinks_per_gpu=18,
    hcas=("ibp",),
    hcas_per_node=8,
    hca_gbits_per_s=400,
    shm_mib=1024,
    hugepages_mib=5120,
    xid_window_s=7200,
    rules=RULES,
    xids=XIDS,
)
NONE = Readings()


def found(report: Report, check: str) -> Finding:
    (one,) = [each for each in report.findings if each.check == check]
    assert check not in report.passed
    return one


def only(wish: Health = WISH, **changes: str | Reading) -> Finding:
    """The one finding that the changed readings lead to; everything else passes."""
    (one,) = examine(wish, readings(**changes)).findings
    return one


def test_a_healthy_node_passes_every_check() -> None:
    report = examine(WISH, readings())
    assert report.findings == ()
    assert report.passed == WISH.wanted
    assert set(WISH.wanted) == set(CHECKS)


def test_without_any_reading_nothing_passes_and_nothing_is_fatal() -> None:
    report = examine(WISH, NONE)
    assert report.passed == ()
    assert {each.check for each in report.findings} == set(CHECKS)
    assert {each.severity for each in report.findings} == {NOT_CHECKED}
    assert all(each.measured.endswith("no reading was left") for each in report.findings)


def test_only_what_is_wished_for_is_checked() -> None:
    assert Health(interface="eth0").wanted == ("interface",)
    assert Health(interface="eth0", hcas=("mlx5",)).wanted == (
        *("hca_count", "hca_state", "hca_rate", "rdma_device", "memlock", "interface"),
    )
    assert "shm" in Health(interface="eth0", shm_mib=1).wanted
    assert "gpu_count" in Health(interface="eth0", gpus=1).wanted
    assert "memlock" not in Health(interface="eth0", gpus=1).wanted


LOST = "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)


@pytest.mark.parametrize(
    ("text", "code"),
    [(LOST, 15), (MISMATCH, 18), (NO_DRIVER, 9), (outputs.gpus(7) + "[GPU requires reset]\n", 0)],
    ids=["lost", "mismatch", "no driver", "reset"],
)
def test_a_driver_that_does_not_answer_is_fatal(text: str, code: int) -> None:
    broken = Reading(text, code)
    report = examine(WISH, readings(**dict.fromkeys(("gpus", "ecc", "rows", "throttle", "recovery", "nvlink"), broken)))
    one = found(report, "gpu_driver")
    assert one.severity == FATAL
    assert one.measured in " ".join(text.split("\n"))
    assert not {"gpu_count", "ecc", "rows_pending", "rows_failure", "throttle", "nvlink", "recovery", "pcie"} & set(
        report.passed
    )


def test_no_devices_were_found() -> None:
    report = examine(WISH, readings(gpus=Reading("No devices were found\n", 6), nvlink=Reading("No devices were found\n", 6)))
    assert found(report, "gpu_count") == Finding("gpu_count", FATAL, "0 GPUs answer nvidia-smi", "8")


def test_a_gpu_is_missing() -> None:
    report = examine(WISH, readings(gpus=outputs.gpus(7), ecc=outputs.ecc(count=7), nvlink=outputs.nvlink(count=7)))
    assert found(report, "gpu_count") == Finding("gpu_count", FATAL, "7 GPUs answer nvidia-smi", "8")
    assert found(report, "ecc") == Finding("ecc", NOT_CHECKED, "7 of 8 GPUs read", "at most 0 uncorrected errors")
    assert found(report, "nvlink").severity == NOT_CHECKED


def test_more_gpus_than_asked_are_said() -> None:
    assert only(replace(WISH, gpus=4)) == Finding("gpu_count", WARNING, "8 GPUs answer nvidia-smi", "4")


def test_an_image_without_nvidia_smi_still_has_device_files() -> None:
    missing = Reading("/gate/lib/gpufabric/validation/health.sh: 24: nvidia-smi: not found\n", 127)
    changes: dict[str, Any] = dict.fromkeys(("gpus", "ecc", "rows", "throttle", "recovery", "nvlink"), missing)
    report = examine(WISH, readings(**changes))
    assert "gpu_count" in report.passed
    assert found(report, "ecc").measured == "nvidia-smi is not in the image"
    seven = outputs.devices(*(f"/dev/nvidia{gpu}" for gpu in range(7)))
    report = examine(WISH, readings(**changes, gpu_devices=seven))
    assert found(report, "gpu_count") == Finding("gpu_count", FATAL, "7 device files /dev/nvidia*", "8")
    report = examine(WISH, readings(**changes, gpu_devices="/dev/nvidia0\n"))
    assert found(report, "gpu_count").severity == NOT_CHECKED, "a list that is cut off counts nothing"


def test_an_nvlink_is_down() -> None:
    one = only(nvlink=outputs.nvlink({3: outputs.link_down(5)}))
    assert one == Finding("nvlink", FATAL, "GPU 3: 17 active, 1 inactive", "18 active links per GPU")


def test_an_inactive_link_beyond_the_known_number_counts_too() -> None:
    one = only(nvlink=outputs.nvlink({3: outputs.link_down(18, links=19)}))
    assert (one.severity, one.measured) == (FATAL, "GPU 3: 18 active, 1 inactive")


def test_all_links_of_a_gpu_are_down_and_its_peers_print_fewer() -> None:
    """Such a GPU prints one sentence, its peers leave the dead links out (public reports)."""
    fewer = "\n".join(f"\t Link {link}: 26.562 GB/s" for link in range(16))
    one = only(nvlink=outputs.nvlink({gpu: ALL_DOWN if gpu == 1 else fewer for gpu in range(8)}))
    assert one.severity == FATAL
    assert one.measured == "GPU 0, 2, 3, 4, 5, 6, 7: 16 active; GPU 1: 0 active, all inactive"


def test_where_no_number_of_links_is_known_an_inactive_one_is_a_warning() -> None:
    wish = replace(WISH, nvlinks_per_gpu=0)
    assert examine(wish, readings(nvlink=outputs.nvlink(links=12))).findings == ()
    assert only(wish, nvlink=outputs.nvlink({3: outputs.link_down(5)})).severity == WARNING
    assert only(wish, nvlink=outputs.nvlink(dict.fromkeys(range(8), ALL_DOWN))).severity == NOT_CHECKED


def test_uncorrected_ecc_errors() -> None:
    one = only(ecc=outputs.ecc({2: "1", 5: "12"}))
    assert one == Finding("ecc", FATAL, "GPU 2: 1; GPU 5: 12", "at most 0 uncorrected errors")
    assert examine(replace(WISH, ecc_most_errors=12), readings(ecc=outputs.ecc({2: "1", 5: "12"}))).findings == ()


@pytest.mark.parametrize("value", [outputs.NA, "[Not Supported]", "N/A", "", "-1", "0x0", "1e3", "[Insufficient Permissions]"])
def test_ecc_that_cannot_be_read_does_not_pass(value: str) -> None:
    one = only(ecc=outputs.ecc(dict.fromkeys(range(8), value)))
    assert one == Finding(
        "ecc", NOT_CHECKED, f"GPU 0, 1, 2, 3, 4, 5, 6, 7: {value or 'no value'}", "at most 0 uncorrected errors"
    )


@pytest.mark.parametrize("value", ["[Unknown Error]", "ERR!"])
def test_an_unknown_error_of_one_gpu_is_said_and_nothing_of_it_passes(value: str) -> None:
    report = examine(WISH, readings(ecc=outputs.ecc({4: value})))
    assert found(report, "ecc") == Finding("ecc", NOT_CHECKED, f"GPU 4: {value}", "at most 0 uncorrected errors")
    assert found(report, "gpu_driver").severity == WARNING
    assert found(report, "gpu_driver").measured == f"ecc: 4, {value}"


def test_one_bad_gpu_among_unreadable_ones_is_fatal() -> None:
    assert only(ecc=outputs.ecc({0: "[N/A]", 1: "3"})).severity == FATAL


@pytest.mark.parametrize("text", ["index, ecc.errors.uncorrected.volatile.total\n", "0, 0\n1, 0\n", "index\n0\n1\n", ""])
def test_a_table_without_rows_header_or_field_does_not_pass(text: str) -> None:
    assert only(ecc=text).severity == NOT_CHECKED


@pytest.mark.parametrize(
    ("reading", "asked", "other"),
    [
        ("ecc", "ecc.errors.uncorrected.volatile.total", "ecc.errors.corrected.volatile.total"),
        ("rows", "remapped_rows.failure", "remapped_rows.correctable"),
        ("throttle", "clocks_event_reasons.hw_slowdown", "clocks_event_reasons.gpu_idle"),
        ("gpus", "persistence_mode", "display_mode"),
    ],
)
def test_the_answer_to_another_question_is_none(reading: str, asked: str, other: str) -> None:
    report = examine(WISH, readings(**{reading: HEALTHY[reading].replace(asked, other)}))
    assert report.findings
    assert {each.severity for each in report.findings} == {NOT_CHECKED}


def test_units_and_newer_names_in_a_head_are_the_same_question() -> None:
    text = HEALTHY["gpus"].replace("pcie.link.gen.current", "pcie.link.gen.gpucurrent").replace("uuid,", "uuid [text],")
    assert examine(WISH, readings(gpus=text)).findings == ()


def test_a_field_that_the_driver_does_not_know() -> None:
    unknown = Reading('Field "gpu_recovery_action" is not a valid field to query.\n\n', 2)
    one = only(recovery=unknown)
    assert one.severity == NOT_CHECKED
    assert one.measured == 'Field "gpu_recovery_action" is not a valid field to query. (exit code 2)'


@pytest.mark.parametrize("value", ["Reset", "Reboot", "Drain P2P", "Drain and Reset", "GPU Reset Required"])
def test_a_recovery_that_the_driver_asks_for(value: str) -> None:
    one = only(recovery=outputs.column("gpu_recovery_action", "None", odd={6: value}))
    assert one == Finding("recovery", FATAL, f"GPU 6: {value}", "no recovery is asked for")


def test_rows_that_wait_for_a_reset_and_rows_that_cannot_be_remapped() -> None:
    one = only(rows=outputs.rows(pending={7: "Yes"}))
    assert one == Finding("rows_pending", FATAL, "GPU 7: Yes", "no row remapping is pending")
    one = only(rows=outputs.rows(failure={0: "Yes"}))
    assert one == Finding("rows_failure", FATAL, "GPU 0: Yes", "no row remapping has failed")


@pytest.mark.parametrize("reason", outputs.REASONS)
@pytest.mark.parametrize("prefix", ["clocks_event_reasons", "clocks_throttle_reasons"])
def test_a_throttle_reason_of_new_and_old_drivers(reason: str, prefix: str) -> None:
    text = outputs.throttle({1: reason}, prefix=prefix)
    if prefix == "clocks_throttle_reasons":
        text = 'Field "clocks_event_reasons.hw_slowdown" is not a valid field to query.\n\n' + text
    assert only(throttle=text) == Finding("throttle", FATAL, f"GPU 1: {reason}", "no slowdown by heat or power brake")


def test_a_throttle_reason_that_cannot_be_read() -> None:
    text = outputs.throttle().replace("Not Active", "[N/A]", 1)
    assert only(throttle=text) == Finding("throttle", NOT_CHECKED, "GPU 0: [N/A]", "no slowdown by heat or power brake")


def test_an_idle_pcie_link_is_not_judged() -> None:
    one = only(gpus=outputs.gpus(gen={2: "1"}, width={2: "8"}))
    assert one.severity == NOT_CHECKED
    assert one.measured == "GPU 2: gen 1 of 5, width 8 of 16, not judged when idle"


def test_persistence_mode_is_a_note() -> None:
    one = only(gpus=outputs.gpus(persistence={5: "Disabled"}))
    assert one == Finding("persistence", NOTE, "GPU 5: Disabled", "enabled")


def test_recorded_names_are_those_of_the_script() -> None:
    script = Path(health.__file__).with_name("health.sh").read_text()
    assert {line.split()[1] for line in script.splitlines() if line.startswith("read_ ")} == set(HEALTHY)
