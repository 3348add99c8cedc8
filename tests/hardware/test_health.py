"""The table of stage 0: every check of the programs has a row, XIDs stand once, machines are found exactly or not at all."""

from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware import TableError
from gpufabric.hardware import health as table
from gpufabric.hardware.accelerators import accelerators
from gpufabric.hardware.fabrics import fabrics
from gpufabric.hardware.health import find_hcas, find_nvlinks, health_checks, xids
from gpufabric.hardware.tables import listed_rows
from gpufabric.validation.health import CHECKS as PROGRAMS
from gpufabric.validation.health_wish import CHECKS, SEVERITIES


def test_every_check_has_a_row_and_a_program() -> None:
    assert set(health_checks()) == set(CHECKS) == set(PROGRAMS)
    assert len(CHECKS) == len(set(CHECKS))


def test_every_row_says_how_bad_it_is_and_what_to_do() -> None:
    for name, row in health_checks().items():
        assert row.severity in SEVERITIES, name
        assert len(row.fix) > 20, name
        assert not row.fix.endswith("."), name
    assert {name for name, row in health_checks().items() if row.severity != "fatal"} == {"pcie", "persistence"}


def test_thresholds() -> None:
    found = {n: (r.least_mib, r.most_errors, r.window_s) for n, r in health_checks().items() if n in ("shm", "ecc", "xid")}
    assert found == {"shm": (1024, 0, 0), "ecc": (0, 0, 0), "xid": (0, 0, 7200)}


def test_xids() -> None:
    assert {xids()[code].severity for code in (48, 54, 64, 74, 79, 95, 119, 120, 151, 154, 149)} == {"fatal"}
    assert {xids()[code].severity for code in (13, 31, 63, 92, 94)} == {"warning"}
    assert {xids()[code].severity for code in (43, 121)} == {"ignore"}
    for code, row in xids().items():
        assert row.severity in (*SEVERITIES, "ignore"), code
        assert 0 < code < 1000


def test_where_sources_differ_the_row_says_so() -> None:
    for code in (63, 92):
        assert "sources differ: fatal for Azure NHC, informational for AWS" in str(xids()[code].provenance)


def test_an_xid_in_two_rows_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*listed_rows(table.XidRow, "health.toml", "xid")]
    monkeypatch.setattr(table, "listed_rows", lambda *_: [*rows, rows[0]])
    with pytest.raises(TableError, match="XID 54 stands in two rows"):
        xids.__wrapped__()


HGX: dict[str, Any] = {"fabric": "infiniband", "accelerator": "H100", "per_node": 8}


def test_adapters_are_found_for_exactly_their_machine() -> None:
    found = find_hcas(**HGX)
    assert found is not None
    assert (found.hcas_per_node, found.rate_gbits_per_s) == (8, 400)
    for other in ({"fabric": "infiniband-together"}, {"accelerator": "A100"}, {"per_node": 4}):
        assert find_hcas(**{**HGX, **other}) is None


def test_nvlinks() -> None:
    found = {name: row.links_per_gpu for name in accelerators() if (row := find_nvlinks(name))}
    assert found == {"H100": 18, "H200": 18, "B200": 18}, "A100 is sold with and without NVLink"


def test_rows_speak_of_hardware_that_is_known() -> None:
    for row in listed_rows(table.Hcas, "health.toml", "hca"):
        assert fabrics()[row.fabric].tier == "best"
        assert set(row.accelerators) <= set(accelerators())
    for links in listed_rows(table.NvLinks, "health.toml", "nvlink"):
        assert set(links.accelerators) <= set(accelerators())


def test_the_page_explains_every_check_as_the_table_has_it() -> None:
    page = (Path(__file__).parents[2] / "docs/gate.md").read_text("utf-8")
    section = page.partition("## Node health\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `") and line.count(" | ") == 4]
    told = {cells[0].strip("|` "): cells[2] for cells in rows}
    assert told.keys() == health_checks().keys()
    for name, said in told.items():
        row = health_checks()[name]
        if name == "xid":
            assert said == "by code"
        else:
            assert said == row.severity, name
