"""What lies in the folder for PATH: the pinned programs, and an official Pulumi is left in peace."""

import os
from pathlib import Path

from tests.tools.conftest import a_program
from tools.toolchain.path import LANGUAGE_HOST, choose, find_official_pulumi, make_path_folder


def executable(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def test_without_an_official_pulumi_all_programs_and_the_language_host(tmp_path: Path, go_log: Path) -> None:
    programs = [a_program(tmp_path, "pulumi", "engine"), a_program(tmp_path, "kubelet")]
    for program in programs:
        program.installed.parent.mkdir(parents=True)
        program.installed.touch()
    folder = make_path_folder(choose(programs, search_path=""))
    assert {path.name for path in folder.iterdir()} == {"pulumi", "kubelet", "pulumi-language-python"}
    assert (folder / "pulumi").resolve() == programs[0].installed.resolve()
    assert os.access(folder / "pulumi-language-python", os.X_OK)
    assert make_path_folder(choose(programs, search_path="")) == folder


def test_an_official_pulumi_makes_the_engine_unnecessary(tmp_path: Path) -> None:
    official = executable(tmp_path / "official", "pulumi", "pulumi-language-python")
    programs = [a_program(tmp_path, "pulumi", "engine"), a_program(tmp_path, "kubelet")]
    choice = choose(programs, search_path=str(official))
    assert choice.official_pulumi == str(official / "pulumi")
    assert [p.name for p in choice.programs] == ["kubelet"]
    assert LANGUAGE_HOST.name not in choice.links


def test_a_pulumi_without_its_language_host_is_not_enough(tmp_path: Path) -> None:
    assert find_official_pulumi(str(executable(tmp_path / "half", "pulumi"))) is None


def test_our_own_folder_on_path_is_not_taken_for_official(cache: Path) -> None:
    ours = cache / "path" / "0123456789ab"
    ours.parent.mkdir(parents=True)
    executable(ours, "pulumi", "pulumi-language-python")
    assert find_official_pulumi(str(ours)) is None


def test_programs_not_built_yet_are_absent(tmp_path: Path) -> None:
    folder = make_path_folder(choose([a_program(tmp_path, "kubelet")], search_path=""))
    assert {path.name for path in folder.iterdir()} == {"pulumi-language-python"}
