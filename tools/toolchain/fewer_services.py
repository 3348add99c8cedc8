"""A cloud's Terraform provider with fewer of its services in it: the same code, in a fraction of the time.

All of AWS's is 2,000 packages, 42 minutes of a core and a program of 700 MB, for 270 services of which a dozen are used here;
Google's has 170. Generated files list them all. In a copy of the module these are cut down to the services that a program's row
names and to what those import; no other line is touched.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tools.errors import ToolError
from tools.toolchain import fewer_aws, fewer_google
from tools.toolchain.programs import Program

_IMPORT = re.compile(r'^\s*(?:import )?(?:\w+ )?"([^"\s]+)"', re.M)
# What is no part of the program.
_LEFT_OUT = shutil.ignore_patterns("*_test.go", "testdata", "test-fixtures", "website", "docs", "examples", ".*", "*.md")


@dataclass(frozen=True)
class Source:
    """How one provider lists its services."""

    module: str
    services: str
    """Folder of the services' packages."""
    cut: Callable[[Path, Collection[str], Collection[str]], None]
    """Cuts the lists of a copy down to these services; it is also told all that the packages in use import."""
    clients: str = ""
    """Package with every service's client, which all need: not followed."""
    also: tuple[str, ...] = ()
    """Packages outside the services' folder whose imports are in use, too."""
    embedded: str = ""
    """Files that stay of services left out, since they are embedded."""


SOURCES = (
    Source(
        fewer_aws.MODULE,
        "internal/service",
        fewer_aws.cut,
        clients=str(fewer_aws.CLIENTS.parent),
        also=("internal/tags/tagpolicy",),
        embedded="smarterr.hcl",
    ),
    Source(fewer_google.MODULE, "google/services", fewer_google.cut),
)


def prepare(go: str, program: Program, folder: Path) -> Path:
    """Make the copy in ``folder``; the go.mod that builds from it."""
    pinned = (program.module / "go.mod").read_text()
    source = next(each for each in SOURCES if each.module in pinned)
    command = [go, "mod", "download", "-json", source.module]
    told = subprocess.run(command, cwd=program.module, capture_output=True, text=True, check=False)
    if told.returncode:
        raise ToolError(f"`{' '.join(command)}` failed: {(told.stderr or told.stdout).strip()[-600:]}")
    whole, copy = Path(json.loads(told.stdout)["Dir"]), folder / "source"
    packages = closure(whole, source, program.services)
    _copy(whole, copy, source, packages)
    imported = {name for package in {*packages, *source.also} for name in _imports(source, copy / package)}
    source.cut(copy, program.services, imported)
    modfile = folder / "go.mod"
    modfile.write_text(f"{pinned}\nreplace {source.module} => {copy}\n")
    shutil.copyfile(program.module / "go.sum", folder / "go.sum")
    return modfile


def closure(whole: Path, source: Source, services: Collection[str]) -> set[str]:
    """Packages of the module that the services' packages need, their own among them, by folder."""
    found: set[str] = set()
    waiting = [f"{source.services}/{service}" for service in services]
    while waiting:
        package = waiting.pop()
        if package in found or package == source.clients:
            continue
        found.add(package)
        imported = _imports(source, whole / package)
        waiting += [name.removeprefix(f"{source.module}/") for name in imported if name.startswith(f"{source.module}/")]
    return found


def _imports(source: Source, package: Path) -> set[str]:
    if not package.is_dir():
        raise ToolError(f"{source.module} has no package {package.name}")
    files = (file for file in package.glob("*.go") if not file.name.endswith("_test.go"))
    return {name for file in files for name in _IMPORT.findall(_head(file.read_text("utf-8")))}


def _head(text: str) -> str:
    """A Go file down to the end of its imports."""
    return re.split(r"^(?:func|type|const|var) ", text, maxsplit=1, flags=re.M)[0]


def _copy(whole: Path, copy: Path, source: Source, packages: Collection[str]) -> None:
    """All but the services that nobody needs. The module cache is read-only, the copy is not."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        package = Path(folder).relative_to(whole)
        if str(package.parent) == source.services and str(package) not in packages:
            return set(names) - {source.embedded}
        return set(_LEFT_OUT(folder, names))

    shutil.copytree(whole, copy, ignore=left_out, copy_function=shutil.copyfile)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
