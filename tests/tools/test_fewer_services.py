"""A provider with fewer services: what the services need stays, the rest goes, and no other line changes."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.tools.conftest import a_program
from tools.errors import ToolError
from tools.toolchain import fewer_google
from tools.toolchain.fewer_aws import MODULE
from tools.toolchain.fewer_services import prepare
from tools.toolchain.programs import Program

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


GOOGLE = fewer_google.MODULE
GOOGLE_FILES = {
    "google/provider/provider_register_services.go": "package provider\n\nimport (\n"
    + "".join(f'\t_ "{GOOGLE}/google/services/{name}"\n' for name in ("compute", "kms", "lustre"))
    + ")\n",
    "google/transport/config.go": "package transport\n",
    "google/services/compute/network.go": f'package compute\n\nimport "{GOOGLE}/google/services/kms"\n',
    "google/services/kms/key.go": f'package kms\n\nimport "{GOOGLE}/google/transport"\n',
    "google/services/lustre/instance.go": "package lustre\n",
}


def go_that_knows(files: dict[str, str], tmp_path: Path) -> str:
    """A go command that knows where the module lies."""
    for name, text in files.items():
        file = tmp_path / "cache" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    next((tmp_path / "cache").iterdir()).chmod(0o555)
    program = tmp_path / "go"
    program.write_text(f"#!/bin/sh\necho '{json.dumps({'Dir': str(tmp_path / 'cache')})}'\n")
    program.chmod(0o755)
    return str(program)


def a_provider(module: str, tmp_path: Path, *services: str) -> Program:
    program = dataclasses.replace(a_program(tmp_path), services=services)
    (program.module / "go.mod").write_text(f"module m\n\nrequire {module} v1.0.0\n")
    (program.module / "go.sum").write_text("sums\n")
    return program


def prepared(program: Program, files: dict[str, str], tmp_path: Path) -> tuple[Path, set[str]]:
    """The copy, and what is in it."""
    folder = tmp_path / "build"
    folder.mkdir()
    prepare(go_that_knows(files, tmp_path), program, folder)
    copy = folder / "source"
    return copy, {str(file.relative_to(copy)) for file in copy.rglob("*") if file.is_file()}


def test_what_the_services_need_stays_and_the_rest_goes(tmp_path: Path) -> None:
    copy, kept = prepared(a_provider(MODULE, tmp_path, "eks"), FILES, tmp_path)
    folder = copy.parent
    assert (folder / "go.mod").read_text() == f"module m\n\nrequire {MODULE} v1.0.0\n\nreplace {MODULE} => {copy}\n"
    assert (folder / "go.sum").read_text() == "sums\n"
    assert kept == FILES.keys() - {"internal/service/eks/cluster_test.go", "internal/service/xray/group.go"}
    registry = (copy / "internal/provider/sdkv2/service_packages_gen.go").read_text()
    assert (registry.count("eks"), registry.count("iam"), registry.count("xray")) == (2, 0, 0)
    clients = (copy / "internal/conns/awsclient_gen.go").read_text()
    assert [clients.count(f"*{name}.Client") for name in ("eks", "iam", "resourcegroupstaggingapi", "xray")] == [1, 1, 1, 0]
    assert '/xray"' not in clients
    for name in kept - {"internal/provider/sdkv2/service_packages_gen.go", "internal/conns/awsclient_gen.go"}:
        assert (copy / name).read_text() == FILES[name]


def test_of_googles_provider_too(tmp_path: Path) -> None:
    copy, kept = prepared(a_provider(GOOGLE, tmp_path, "compute"), GOOGLE_FILES, tmp_path)
    assert kept == GOOGLE_FILES.keys() - {"google/services/lustre/instance.go"}
    registry = (copy / "google/provider/provider_register_services.go").read_text()
    assert [name in registry for name in ("compute", "kms", "lustre")] == [True, False, False]


@pytest.mark.parametrize(("module", "files"), [(MODULE, FILES), (GOOGLE, GOOGLE_FILES)])
def test_a_service_that_is_not_there(module: str, files: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="has no package eks2"):
        prepared(a_provider(module, tmp_path, "eks2"), files, tmp_path)


def test_the_services_are_part_of_a_programs_key(tmp_path: Path) -> None:
    program = a_program(tmp_path)
    assert dataclasses.replace(program, services=("eks",)).key != dataclasses.replace(program).key
