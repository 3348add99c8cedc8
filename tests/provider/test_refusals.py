"""That it is AWS's code which looks at a program: mistakes that Pulumi's types let through, and AWS's texts for them."""

from pathlib import Path

import pytest

from tools.awsprovider.sample import life
from tools.awsprovider.session import Session

PROGRAM = """
from pulumi_aws import {module}

{kind}("wrong", {arguments})
"""
VPC = "vpc_id='vpc-0123456789abcdef0'"
NODES = "cluster_name='c', node_role_arn='arn:aws:iam::123456789012:role/r', subnet_ids=['subnet-0123456789abcdef0']"
SIZE = "scaling_config={'desired_size': 1, 'max_size': 1, 'min_size': 1}"
TEMPLATE = "network_interfaces=[{'interface_type': 'efa-only', 'device_index': 0, 'delete_on_termination': 'perhaps'}]"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("ec2.SecurityGroup", f"name='sg-fabric', {VPC}", "invalid value for name (cannot begin with sg-)"),
        pytest.param(
            *("eks.NodeGroup", f"{NODES}, {SIZE}, capacity_type='BLOCK'", "expected capacity_type to be one of"),
            marks=pytest.mark.soak,
        ),
        pytest.param("ec2.LaunchTemplate", TEMPLATE, "delete_on_termination", marks=pytest.mark.soak),
    ],
)
def test_aws_says_no_at_preview(kind: str, arguments: str, says: str, aws: Session, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text(
        PROGRAM.format(module=kind.split(".", maxsplit=1)[0], kind=kind, arguments=arguments), encoding="utf-8"
    )
    with life(aws, "wrong", program, {"aws:region": "us-east-2"}, tmp_path) as made:
        done = made.run("preview")
    assert done.returncode != 0
    assert says in " ".join(done.stdout.split())
    assert not aws.recorder.changes()


@pytest.mark.engine
@pytest.mark.soak
def test_a_type_without_a_row_is_refused_by_name(aws: Session, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    text = PROGRAM.format(module="ec2", kind="ec2.KeyPair", arguments="public_key='ssh-rsa x'")
    (program / "__main__.py").write_text(text, encoding="utf-8")
    with life(aws, "wrong", program, {"aws:region": "us-east-2"}, tmp_path) as made:
        done = made.run("preview")
    assert "'aws:ec2/keyPair:KeyPair' has no row in tools/awsprovider/names.toml" in done.stdout
