"""That it is Google's code which looks at a program: mistakes that Pulumi's types let through, and Google's texts for them."""

from pathlib import Path

import pytest

from tests.provider.google.programs import CONFIG, ZONE, write
from tools.googleprovider.sample import life

PROGRAM = """
from pulumi_gcp import {module}

{kind}("wrong", {arguments})
"""
CLUSTER = f"name='c', location='{ZONE}', cluster_ipv4_cidr='10.0.0.0/14', ip_allocation_policy={{}}"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("container.Cluster", CLUSTER, "conflicts with ip_allocation_policy"),
        pytest.param(
            "compute.Network",
            "mtu=9000, name='Wrong_Name'",
            '"name" ("Wrong_Name") doesn\'t match regexp',
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "compute.Network",
            "network_firewall_policy_enforcement_order='FIRST'",
            "expected network_firewall_policy_enforcement_order to be one of",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "compute.ResourcePolicy",
            "region='us-east4', group_placement_policy=dict(collocation='TIGHT')",
            "collocation",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_google_says_no_at_preview(kind: str, arguments: str, says: str, tmp_path: Path) -> None:
    text = PROGRAM.format(module=kind.split(".", maxsplit=1)[0], kind=kind, arguments=arguments)
    with life("wrong", write(tmp_path, text), CONFIG, tmp_path) as made:
        done = made.stack.run("preview")
        assert done.returncode != 0
        assert says in " ".join(done.stdout.split()), done.stdout
        assert not made.apis.changes()


@pytest.mark.engine
@pytest.mark.soak
def test_a_type_without_a_row_is_refused_by_name(tmp_path: Path) -> None:
    text = PROGRAM.format(module="compute", kind="compute.Image", arguments="name='image'")
    with life("wrong", write(tmp_path, text), CONFIG, tmp_path) as made:
        done = made.stack.run("preview")
    assert done.returncode != 0
    assert "gcp:compute/image:Image" in done.stdout
