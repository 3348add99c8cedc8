"""AWS's provider with fewer services: what the services need stays, the rest goes, and no other line changes."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.tools.conftest import a_program
from tools.errors import ToolError
from tools.toolchain.fewer_services import MODULE, prepare

SDK = "github.com/aws/aws-sdk-go-v2/service"
FILES = {
    "main.go": "package main\n",
    "internal/verify/verify.go": "package verify\n",
    "internal/tags/tagpolicy/required_tags.go": f'package tagpolicy\n\nimport "{SDK}/resourcegroupstaggingapi"\n',
    "internal/service/eks/cluster.go": f'package eks\n\nimport (\n\t"context"\n\ttypes "{SDK}/eks/types"\n'
    f'\t"{MODULE}/internal/service/iam"\n\t"{MODULE}/internal/verify"\n)\n\nvar text = "{SDK}/xray"\n',
    "internal/service/eks/cluster_test.go": f'package eks\n\nimport "{SDK}/xray"\n',
    "internal/service/iam/role.go": f'package iam\n\nimport "{SDK}/iam"\n',
    "internal/service/xray/group.go": f'package xray\n\nimport "{SDK}/xray"\n',
    "internal/service/xray/smarterr.hcl": "embedded\n",
    "internal/provider/sdkv2/service_packages_gen.go": "package sdkv2\n\nimport (\n\t\"context\"\n"
    + "".join(f'\t"{MODULE}/internal/service/{name}"\n' for name in ("eks", "iam", "xray"))
    + ")\n\nfunc all() []any {\n\treturn []any{\n"
    + "".join(f"\t\t{name}.ServicePackage(ctx),\n" for name in ("eks", "iam", "xray"))
    + "\t}\n}\n",
    "internal/conns/awsclient_gen.go": "package conns\n\nimport (\n"
    + "".join(f'\t"{SDK}/{name}"\n' for name in ("eks", "iam", "resourcegroupstaggingapi", "xray"))
    + ")\n"
    + "".join(
        f"\nfunc (c *AWSClient) {name.upper()}Client(ctx context.Context) *{name}.Client {{\n\treturn {name}.New()\n}}\n"
        for name in ("eks", "iam", "resourcegroupstaggingapi", "xray")
    ),
}  # fmt: skip


@pytest.fixture
def go(tmp_path: Path) -> str:
    """A go command that knows where the module lies."""
    for name, text in FILES.items():
        file = tmp_path / "cache" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "cache" / "internal").chmod(0o555)
    program = tmp_path / "go"
    program.write_text(f"#!/bin/sh\necho '{json.dumps({'Dir': str(tmp_path / 'cache')})}'\n")
    program.chmod(0o755)
    return str(program)


def test_what_the_services_need_stays_and_the_rest_goes(go: str, tmp_path: Path) -> None:
    program = dataclasses.replace(a_program(tmp_path), services=("eks",))
    (program.module / "go.sum").write_text("sums\n")
    folder = tmp_path / "build"
    folder.mkdir()
    modfile = prepare(go, program, folder)
    copy = folder / "source"
    assert modfile.read_text() == f"module m\n\nreplace {MODULE} => {copy}\n"
    assert (folder / "go.sum").read_text() == "sums\n"
    kept = {str(file.relative_to(copy)) for file in copy.rglob("*") if file.is_file()}
    assert kept == FILES.keys() - {"internal/service/eks/cluster_test.go", "internal/service/xray/group.go"}
    registry = (copy / "internal/provider/sdkv2/service_packages_gen.go").read_text()
    assert (registry.count("eks"), registry.count("iam"), registry.count("xray")) == (2, 0, 0)
    clients = (copy / "internal/conns/awsclient_gen.go").read_text()
    assert [clients.count(f"*{name}.Client") for name in ("eks", "iam", "resourcegroupstaggingapi", "xray")] == [1, 1, 1, 0]
    assert '/xray"' not in clients
    for name in kept - {"internal/provider/sdkv2/service_packages_gen.go", "internal/conns/awsclient_gen.go"}:
        assert (copy / name).read_text() == FILES[name]


def test_a_service_that_is_not_there(go: str, tmp_path: Path) -> None:
    program = dataclasses.replace(a_program(tmp_path), services=("eks2",))
    with pytest.raises(ToolError, match="has no package eks2"):
        prepare(go, program, tmp_path)


def test_the_services_are_part_of_a_programs_key(tmp_path: Path) -> None:
    program = a_program(tmp_path)
    assert dataclasses.replace(program, services=("eks",)).key != dataclasses.replace(program).key
