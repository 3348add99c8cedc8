"""Where the file of a stack lies, as Pulumi looks for it."""

from pathlib import Path

import pytest

from gpufabric.spec import SpecError, find_stack_file
from tools.folders import REPOSITORY


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("stack", ["dev", "acme/p/dev"])
@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_beside_the_project_file(tmp_path: Path, ending: str, stack: str) -> None:
    write(tmp_path / f"Pulumi.{ending}", "name: p\n")
    file = write(tmp_path / f"Pulumi.dev.{ending}")
    assert find_stack_file(tmp_path, stack) == file
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_stack_file(below, stack) == file, "from a folder below, too"


def test_in_the_projects_folder_for_them(tmp_path: Path) -> None:
    write(tmp_path / "Pulumi.yaml", "name: p\nstackConfigDir: config\n")
    write(tmp_path / "Pulumi.dev.yaml")
    file = write(tmp_path / "config" / "Pulumi.dev.yaml")
    assert find_stack_file(tmp_path, "dev") == file


def test_this_projects_own() -> None:
    assert find_stack_file(REPOSITORY, "local") == REPOSITORY / "stacks" / "Pulumi.local.yaml"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "{0}: no Pulumi.yaml here or above; name the folder of the project with --cwd"),
        (
            {"Pulumi.yaml": "name: p"},
            "{0}/Pulumi.yaml: no Pulumi.dev.yaml in {0}; check the name of the stack, and stackConfigDir of the project",
        ),
        ({"Pulumi.yaml": "a: b: c"}, "{0}/Pulumi.yaml: cannot be read as YAML; repair it"),
        ({"Pulumi.yaml": "[" * 10_000}, "{0}/Pulumi.yaml: cannot be read as YAML; repair it"),
    ],
    ids=["no project", "no stack file", "broken", "deep"],
)
def test_what_is_missing_is_said(tmp_path: Path, files: dict[str, str], says: str) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)
    with pytest.raises(SpecError) as caught:
        find_stack_file(tmp_path, "dev")
    assert str(caught.value) == says.format(tmp_path)
