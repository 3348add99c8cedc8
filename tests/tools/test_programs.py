"""The table of programs says all that a build needs, and a build's key changes with what it depends on."""

import dataclasses
import re
from pathlib import Path

import pytest

from tests.tools.conftest import a_program
from tools.errors import ToolError
from tools.toolchain.programs import Program, read_programs, select

PROGRAMS = read_programs()
NEEDED_BY_THE_CLUSTER = {
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns"),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_row_is_complete(program: Program) -> None:
    go_mod = (program.module / "go.mod").read_text()
    assert (program.module / "go.sum").exists()
    assert program.cold_seconds > 0
    assert not any("{" in flag or flag.startswith("@") for flag in program.ldflags)
    if program.package == ".":
        assert (program.module / "main.go").exists()
    else:
        assert f"tool {program.package}\n" in go_mod or f"\t{program.package}\n" in go_mod


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.package != "."], ids=lambda p: p.name)
def test_the_version_in_the_table_is_the_one_the_module_pins(program: Program) -> None:
    pins = re.findall(r"^\s*(?:require )?(\S+) v(\S+)", (program.module / "go.mod").read_text(), re.M)
    versions = {version for module, version in pins if f"{program.package}/".startswith(f"{module}/")}
    assert program.version in versions


def test_groups() -> None:
    assert {p.name for p in select(PROGRAMS, "cluster")} == NEEDED_BY_THE_CLUSTER
    assert {p.name for p in select(PROGRAMS, "addon")} == {"kueue", "rclone", "versitygw"}
    assert {p.name for p in select(PROGRAMS, "engine")} == {"pulumi", "pulumi-resource-kubernetes"}
    aws, google = {"pulumi-dynamic-bridge", "terraform-provider-aws"}, {"pulumi-google-bridge"}
    assert {p.name for p in select(PROGRAMS, "all")} == {p.name for p in PROGRAMS} - aws - google - {"kubectl"}
    assert {p.name for p in select(PROGRAMS, "provider-aws")} == aws
    assert {p.name for p in select(PROGRAMS, "provider-google")} == google
    assert [p.name for p in select(PROGRAMS, "kubectl")] == ["kubectl"]


def test_an_unknown_program_lists_the_known_ones() -> None:
    with pytest.raises(ToolError, match=r"no program or group named 'kubeadm'; known: engine, .*kubelet"):
        select(PROGRAMS, "kubeadm")


@pytest.mark.parametrize(
    ("name", "package"), [("pulumi-resource-kubernetes", "pulumi-kubernetes"), ("pulumi-google-bridge", "pulumi-gcp")]
)
def test_the_provider_announces_the_version_of_the_python_package(name: str, package: str) -> None:
    from importlib.metadata import version

    provider = next(p for p in PROGRAMS if p.name == name)
    assert provider.version == version(package)


def test_the_key_depends_on_sources_and_flags(tmp_path: Path) -> None:
    program = a_program(tmp_path)
    keys = {program.key, dataclasses.replace(program, ldflags=("-w",)).key, dataclasses.replace(program, package="other").key}
    keys.add(dataclasses.replace(program, files=("config",)).key)
    for file in ("go.sum", "main.go", "go.mod"):
        (program.module / file).write_text(f"changed {file}\n")
        keys.add(dataclasses.replace(program).key)
    assert len(keys) == 7
    assert dataclasses.replace(program, cold_seconds=99).key in keys
