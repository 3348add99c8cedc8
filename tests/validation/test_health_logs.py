"""Stage 0: XIDs of the kernel's log, and what dcgmi says."""

import pytest

from gpufabric.validation.health import examine
from gpufabric.validation.health_readings import Reading
from gpufabric.validation.health_report import Finding
from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, WARNING
from tests.validation import health_outputs as outputs
from tests.validation.health_outputs import readings
from tests.validation.test_health import WISH, only

FELL = "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("lines", "severity", "measured"),
    [
        ([(399_000.0, FELL)], FATAL, "XID 79 on 0000:3b:00 (reboot)"),
        ([(399_000.0, "63, pid='<unknown>', name=<unknown>, Row Remapper")], WARNING, "XID 63 on 0000:3b:00 (recorded)"),
        ([(399_000.0, "999, something new")], WARNING, "XID 999 on 0000:3b:00 (not in the list)"),
        ([(399_000.0, FELL), (399_001.0, "63, row")], FATAL, "XID 79 on 0000:3b:00 (reboot)"),
        (
            [(399_000.0, "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")],
            FATAL,
            "XID 154 on 0000:3b:00 (GPU Reset Required)",
        ),
    ],
)
def test_xids(lines: list[tuple[float, str]], severity: str, measured: str) -> None:
    assert only(xid_kernel=outputs.xids(*lines)) == Finding("xid", severity, measured, "no XID of the list in the last 7200 s")


@pytest.mark.parametrize(
    "line",
    [
        (390_000.0, FELL),  # more than two hours ago
        (399_000.0, "43, pid=1, name=python, Ch 00000008"),  # ignored
        (399_000.0, "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
    ],
)
def test_xids_that_are_no_finding(line: tuple[float, str]) -> None:
    assert examine(WISH, readings(xid_kernel=outputs.xids(line))).findings == ()


def test_without_a_clock_every_xid_counts() -> None:
    assert only(xid_kernel=outputs.xids((390_000.0, FELL)), uptime="").severity == FATAL
    assert only(xid_kernel=f"NVRM: Xid (PCI:0000:3b:00): {FELL}\nend of log\n").severity == FATAL


def test_an_xid_line_that_cannot_be_read_is_a_warning() -> None:
    one = only(xid_kernel="[1.0] NVRM: Xid (PCI:0000:3b:00): ??\nend of log\n")
    assert (one.severity, one.measured) == (WARNING, "1 XID lines that cannot be read")


@pytest.mark.parametrize(
    "reading",
    [
        Reading("dmesg: read kernel buffer failed: Operation not permitted\n", 1),
        Reading("", 3),
        Reading("", 0),
        Reading("", 124),
        Reading("dmesg: not found\n", 127),
    ],
)
def test_a_kernel_log_that_may_not_be_read_is_not_checked(reading: Reading) -> None:
    one = only(xid_kernel=reading)
    assert one.severity == NOT_CHECKED
    assert one.measured.startswith("kernel log: ")


@pytest.mark.parametrize("version", [3, 4])
def test_dcgm(version: int) -> None:
    name = "software" if version == 4 else "Denylist"
    assert examine(WISH, readings(dcgm=outputs.dcgm(version=version))).findings == ()
    one = only(dcgm=Reading(outputs.dcgm({(name, 3): "Fail"}, version=version), 226))
    assert (one.severity, one.measured) == (FATAL, f"fail: {name} GPU 3")
    one = only(dcgm=outputs.dcgm({(name, 3): "Warn"}, version=version))
    assert (one.severity, one.measured) == (WARNING, f"warn: {name} GPU 3")
    one = only(dcgm=outputs.dcgm({(name, 3): "Not Run"}, version=version))
    assert (one.severity, one.measured) == (NOT_CHECKED, f"{name} GPU 3 not run")


@pytest.mark.parametrize(
    "text",
    [
        '{"DCGM Diagnostic": {"runtime_error": "Unable to connect", "test_categories": []}}',
        '{"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "memory", "results": [{"status": "Skip"}]}]}]}}',
        "Error: unable to establish a connection to the specified host: localhost\n",
        '{"DCGM Diagnostic": 3}',
        "{",
        "[]",
        "{" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_dcgm_without_a_result(text: str) -> None:
    assert only(dcgm=text).severity == NOT_CHECKED
