"""The docs page of the node group says what the tables say; the page of faults names tests that exist."""

import re
from pathlib import Path

from gpufabric.hardware import aws_machines

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "components" / "EksGpuNodeGroup.md"


def rows() -> dict[str, tuple[int, int, int]]:
    """GPUs, EFA devices and Gbit/s by machine; a row of several machines has one number for all, or one for each."""
    found = {}
    for line in PAGE.read_text("utf-8").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`([a-z0-9-]+\.[0-9a-z]+)`", cells[0])
        if not line.startswith("|") or not names:
            continue
        numbers = [
            [int(each.replace(",", "")) for each in re.findall(r"(?<![A-Z])\b[0-9][0-9,]*(?=\b)", cell.replace(", ", " "))]
            for cell in cells[1:]
        ]
        for position, name in enumerate(names):
            gpus, devices, rate = (each[min(position, len(each) - 1)] for each in numbers)
            found[name] = (gpus, devices, rate)
    return found


def test_the_machines_of_the_page_are_those_of_the_table() -> None:
    table = {
        name: (row.accelerators, row.fabric_devices, row.network_gbits_per_s)
        for name, row in aws_machines().items()
        if not row.refusal
    }
    assert rows() == table


def test_what_is_refused_is_said() -> None:
    text = PAGE.read_text("utf-8")
    for name, row in aws_machines().items():
        assert not row.refusal or f"`{name}`" in text


def test_the_page_of_faults_names_tests_that_are_there() -> None:
    named = set(re.findall(r"`([a-z/_]*test_[a-z_0-9]+\.py)`", (DOCS / "aws.md").read_text("utf-8")))
    assert len(named) >= 5
    assert not [each for each in named if not any((TESTS / room / each).is_file() for room in ("", "aws", "plan/aws"))]


def test_every_fault_has_an_answer() -> None:
    """An error, a default or a line; what is said to be an error names the test, or the command, that shows it."""
    rows = [line.strip("|").split("|") for line in (DOCS / "aws.md").read_text("utf-8").split("\n") if line.startswith("| ")]
    answers = [cells[2].strip() for cells in rows if len(cells) == 3 and cells[2].strip() not in ("here", "until then")]
    assert len(answers) > 25
    assert all(answers)
    errors = [each for each in answers if each.startswith("error")]
    assert [each for each in errors if not re.search(r"test_|nearest|preflight", each)] == []
