"""Docs that list what the code knows hold what the code knows."""

import json
import re

import pytest

from gpufabric.hardware.daemons import daemons
from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.hardware.local_nvme import nvme_models
from gpufabric.hardware.lustre import lustre_throughputs
from gpufabric.hardware.machines import gcp_machines
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


def test_the_models_of_local_disks_are_the_tables() -> None:
    page = (DOCS / "components" / "LocalNvme.md").read_text("utf-8")
    for name, row in nvme_models().items():
        assert f"| `{name}` | {', '.join(f'`{each}`' for each in row.models)} |" in page


def test_the_device_plugins_are_the_tables() -> None:
    page = (DOCS / "components" / "FabricDaemons.md").read_text("utf-8")
    for name, row in daemons().items():
        image = row.plugin or row.image
        version = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
        pinned = "by digest" if "@" in image else "by tag"
        values = "` or `".join(row.node_label_values)
        label = f"{row.node_label}={values}" if values else row.node_label
        line = next(each for each in page.splitlines() if each.startswith(f"| `{name}`"))
        assert f"| `{row.resource}` |" in line or (not row.resource and "| - |" in line)
        assert f"| {version}, {pinned}" in line or (not version and f"| {pinned}" in line)
        assert line.endswith(f"| `{label}` |")


def test_the_pairs_of_plugin_and_sidecar_are_the_tables() -> None:
    page = (DOCS / "components" / "FabricDaemons.md").read_text("utf-8")
    for name, row in fabric_pods().items():
        plugin, sidecar = (image.rpartition(":")[2] for image in (row.plugin, row.sidecar_image))
        assert f"| `{name}` | {plugin} | {f'`{row.sidecar}` {sidecar}' if row.sidecar else 'none'} |" in page


def test_the_networks_of_the_machines_are_the_tables() -> None:
    page = (DOCS / "components" / "FabricNetworks.md").read_text("utf-8")
    for name, row in gcp_machines().items():
        if row.refusal or row.fabric not in fabric_pods():
            continue
        line = next(each for each in page.splitlines() if each.startswith("|") and f"`{name}`" in each)
        pod = fabric_pods()[row.fabric]
        rails = pod.rail_networks(row.fabric_devices)
        hosts = "".join(f"`{host}`, then " for host in pod.host_networks)
        assert f"| {hosts}`{rails[0]}` to `{rails[-1]}` |" in line
        assert line.endswith(f"{pod.network_mode} |")
