"""The docs pages say what the tables say; the page of faults names tests that exist."""

import re
from pathlib import Path

import pytest

from gpufabric.hardware import gcp_machines
from gpufabric.hardware.filestore import filestore_bands
from gpufabric.hardware.managed_lustre import managed_lustre_tiers
from gpufabric.plan.gcp.network import network_count

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"


def page(name: str) -> str:
    return (DOCS / "components" / f"{name}.md").read_text("utf-8")


def test_the_machines_of_the_page_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\d+) \| [^|]+ \| (\d+) \| (\d+) \|$", page("GkeGpuNodePool"), re.MULTILINE)
    found = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    with_fabric = [row for row in gcp_machines().values() if row.fabric and not row.refusal]
    assert found == {row.name: (row.accelerators, network_count(row), row.local_disks) for row in with_fabric}


def test_the_grid_of_lustre_is_the_tables() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+|-) \| (\d+) \|$", page("ManagedLustre"), re.MULTILINE)
    expected = {
        (
            str(row.throughput_mbytes_per_s),
            str(row.step_size_gib),
            str(row.wide_from_gib),
            "-" if row.wide_from_gib == row.most_size_gib else str(row.wide_step_size_gib),
            str(row.most_size_gib),
        )
        for row in managed_lustre_tiers().values()
    }
    assert set(rows) == expected


@pytest.mark.parametrize("tier", ["zonal", "regional", "basic_ssd"])
def test_the_bands_of_filestore_are_the_tables(tier: str) -> None:
    rows = re.findall(rf"^\| {tier} \| (\d+) \| (\d+) \| (\d+) \|$", page("Filestore"), re.MULTILINE)
    assert [tuple(map(int, row)) for row in rows] == [
        (band.first_size_gib, band.step_size_gib, band.most_size_gib) for band in filestore_bands(tier)
    ]


def test_the_page_of_faults_names_tests_that_are_there() -> None:
    named = set(re.findall(r"`([a-z/_]*test_[a-z_0-9]+\.py)`", (DOCS / "gcp.md").read_text("utf-8")))
    assert len(named) >= 8
    assert not [each for each in named if not (TESTS / each).is_file()]


def test_every_fault_has_an_answer() -> None:
    """An error, a default or a line; what is said to be an error names the test that shows it."""
    rows = [line.strip("|").split("|") for line in (DOCS / "gcp.md").read_text("utf-8").split("\n") if line.startswith("| ")]
    answers = [cells[2].strip() for cells in rows if len(cells) == 3 and cells[2].strip() not in ("here", "until then")]
    assert len(answers) > 35
    assert all(answers)
    assert [each for each in answers if each.startswith("error") and "test_" not in each] == []
