"""Docs that list what the code knows hold what the code knows."""

import json
import re

import pytest

from gpufabric.hardware.daemons import daemons
from gpufabric.hardware.lustre import lustre_throughputs
from gpufabric.hosted import installed_components
from gpufabric.preflight.aws_client import PERMISSIONS
from tools.folders import REPOSITORY

DOCS = REPOSITORY / "docs"


@pytest.mark.parametrize("component", installed_components(), ids=lambda component: component.__name__)
def test_every_component_has_its_page(component: type) -> None:
    page = (DOCS / "components" / f"{component.__name__}.md").read_text("utf-8")
    assert page.startswith(f"# {component.__name__}\n")


def test_the_permissions_of_the_preflight_are_those_that_it_asks_for() -> None:
    (policy,) = re.findall(r"```json\n(.*?)```", (DOCS / "preflight.md").read_text("utf-8"), re.DOTALL)
    (statement,) = json.loads(policy)["Statement"]
    assert tuple(statement["Action"]) == PERMISSIONS


def test_the_grid_of_lustre_is_the_tables() -> None:
    page = (DOCS / "components" / "FsxLustre.md").read_text("utf-8")
    rows = {row.throughput_mbytes_per_s: row for row in lustre_throughputs().values()}
    found = re.findall(r"^\| (\d+) \| (\d+), then multiples of (\d+) \| multiples of (\d+) \|$", page, re.MULTILINE)
    assert {int(each[0]): tuple(map(int, each[1:])) for each in found} == {
        key: (row.first_size_gib, row.step_size_gib, row.efa_step_size_gib) for key, row in rows.items()
    }


def test_the_device_plugins_are_the_tables() -> None:
    page = (DOCS / "components" / "FabricDaemons.md").read_text("utf-8")
    for name, row in daemons().items():
        version = row.image.partition("@")[0].rpartition(":")[2]
        pinned = "by digest" if "@" in row.image else "by tag"
        label = f"{row.node_label}={row.node_label_value}" if row.node_label_value else row.node_label
        line = next(each for each in page.splitlines() if each.startswith(f"| `{name}`"))
        assert f"`{row.resource}`" in line
        assert f"{version}, {pinned}" in line
        assert line.endswith(f"| `{label}` |")
