"""Versions of GKE: what works from which one on, and how versions compare."""

import pytest

from gpufabric.hardware import default_gke_version, gcp_machines, gke_fabrics, gke_minimums
from gpufabric.hardware.gke import gke_versions, version_numbers
from gpufabric.plan.gcp.shelf import SEVERAL_VOLUMES
from gpufabric.plan.gcp.version import version_problems
from tests.plan.gcp.wishes import group_of, plan_of, says, with_group


def fits(version: str, need: str) -> bool:
    return not version_problems(version, [need], "at")


@pytest.mark.parametrize(
    ("version", "need", "fine"),
    [
        ("1.32.11-gke.1174000", "gpudirect-tcpxo", True),
        ("1.32.11-gke.1174001", "gpudirect-tcpxo", True),
        ("1.32.12-gke.1", "gpudirect-tcpxo", True),
        ("1.32.11-gke.1173999", "gpudirect-tcpxo", False),
        ("1.32.9-gke.9999999", "gpudirect-tcpxo", False),  # not "1.32.9" > "1.32.11", as text would have it
        ("1.32.10", "gpudirect-tcpxo", False),
        ("1.32.11", "gpudirect-tcpxo", True),  # whichever build: GKE takes the newest
        ("1.32", "gpudirect-tcpxo", True),
        ("1.33.0", "gpudirect-tcpxo", True),
        ("1.30.14-gke.1922000", "gpudirect-tcpxo", True),  # carried back
        ("1.30.13-gke.1922000", "gpudirect-tcpxo", False),
        ("1.27.99", "gpudirect-tcpxo", False),
        ("1.27.16-gke.2874000", "gpudirect-tcpx", True),
        ("1.26", "gpudirect-tcpx", False),
        ("1.30.0", "gpudirect-tcpx", True),
        ("1.31.7-gke.1265000", "a3-ultragpu-8g", True),
        ("1.31.6", "a3-ultragpu-8g", False),
        ("1.32.4-gke.1236000", "a4-highgpu-8g", True),
        ("1.32.3", "a4-highgpu-8g", False),
        ("1.34.1-gke.1829001", "dranet", True),
        ("1.34.1-gke.1829000", "dranet", False),
        ("1.33", "dranet", False),
        ("1.32.2-gke.1652000", "flex_start", True),
        ("1.32.1", "flex_start", False),
        ("1.33.2-gke.4780000", "lustre", True),
        ("1.33.2-gke.4779999", "lustre", False),
        ("1.20", "g2-standard-96", True),  # from no known version on
        ("1.20", "on_demand", True),
    ],
)
def test_what_works_from_a_version_on(version: str, need: str, fine: bool) -> None:
    assert fits(version, need) == fine


def test_every_need_of_the_table_is_one_that_is_asked_for() -> None:
    """A row for a name that nothing has would never be looked at."""
    names = {*gcp_machines(), *gke_fabrics(), "dranet", "flex_start", "queued", "on_demand", "spot", "reservation"}
    names |= {"gcsfuse", "lustre", "filestore", SEVERAL_VOLUMES}
    from gpufabric.hardware.gke import _minimums

    assert {row.of for row in _minimums()} <= names
    assert all(row.fabric in names for row in gke_fabrics().values())


def test_the_default_version_serves_every_machine() -> None:
    version = default_gke_version().kubernetes
    assert version in gke_versions()
    for need in (*gcp_machines(), *gke_fabrics(), "dranet", "flex_start", "lustre"):
        assert fits(version, need), need
        assert all(len(version_numbers(row.version)) == 4 for row in gke_minimums(need))


def test_a_stack_with_an_old_version() -> None:
    def with_version(version: str, **group: object) -> dict[str, object]:
        return {**with_group(**group), "cluster": {"kubernetes_version": version}}

    assert plan_of(with_version("1.32.4-gke.1767000")).version == "1.32.4-gke.1767000"
    (line,) = says(with_version("1.32.4-gke.1767000", machine_type="a3-megagpu-8g"))
    assert line.startswith("cluster.kubernetes_version: gpudirect-tcpxo works from 1.32.11-gke.1174000 on; ")
    assert line.endswith("as_of)") or "write a newer version, or leave it out (vendor, cluster-toolkit" in line
    (line,) = says(with_version("1.33", fabric_attachment="dranet"))
    assert line.startswith("cluster.kubernetes_version: dranet works from 1.34.1-gke.1829001 on; 1.33 is older; ")
    (line,) = says(with_version("1.32.1", capacity={"kind": "flex_start"}))
    assert line.startswith("cluster.kubernetes_version: flex-start works from 1.32.2-gke.1652000 on; 1.32.1 is older; ")


def test_a_driver_that_needs_a_newer_version() -> None:
    """On older nodes GKE's metadata server has the port on which Lustre's client listens."""
    raw = {**with_group(), "filesystems": {"data": {"size_gib": 36_000}}, "cluster": {"kubernetes_version": "1.32"}}
    (line,) = says(raw)
    assert line.startswith("cluster.kubernetes_version: lustre works from 1.33.2-gke.4780000 on; 1.32 is older; write a newer ")
    assert plan_of({**raw, "cluster": {"kubernetes_version": "1.33"}}).version == "1.33"


def test_two_groups_say_it_once() -> None:
    groups = [{"name": name, "machine_type": "a3-megagpu-8g", "nodes": 2} for name in ("a", "b")]
    raw = {**with_group(), "node_groups": groups, "cluster": {"kubernetes_version": "1.32.4"}}
    assert len(says(raw)) == 1


def test_ethernet_needs_no_version_of_a_fabric() -> None:
    raw = {**with_group(machine_type="a3-megagpu-8g", network_tier="standard"), "cluster": {"kubernetes_version": "1.32.4"}}
    assert plan_of(raw).version == "1.32.4"
    assert group_of(machine_type="a3-megagpu-8g", network_tier="standard").attachment is None
