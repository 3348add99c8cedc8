"""AWS's Terraform provider with fewer of AWS's services in it: the same code, in an eighth of the time.

All of it is 2,000 packages, 42 minutes of a core and a program of 700 MB, for 270 services of which a dozen are used here. Two
generated files of it list them all: one registers each service's resources, one makes each service's client. In a copy of the
module these two are cut down to the services that a program's row names and to what those import; no other line is touched.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from tools.errors import ToolError
from tools.toolchain.programs import Program

MODULE = "github.com/hashicorp/terraform-provider-aws"
_REGISTRY = Path("internal/provider/sdkv2/service_packages_gen.go")
_CLIENTS = Path("internal/conns/awsclient_gen.go")
_SERVICES = "internal/service"
_SETTINGS = "smarterr.hcl"
_IMPORT = re.compile(r'^\s*(?:import )?(?:\w+ )?"([^"\s]+)"', re.M)
_SDK = re.compile(r"github\.com/aws/aws-sdk-go-v2/service/(\w+)")
# What is no part of the program.
_LEFT_OUT = shutil.ignore_patterns("*_test.go", "testdata", "test-fixtures", "website", "docs", "examples", ".*", "*.md")


def prepare(go: str, program: Program, folder: Path) -> Path:
    """Make the copy in ``folder``; the go.mod that builds from it."""
    command = [go, "mod", "download", "-json", MODULE]
    told = subprocess.run(command, cwd=program.module, capture_output=True, text=True, check=False)
    if told.returncode:
        raise ToolError(f"`{' '.join(command)}` failed: {(told.stderr or told.stdout).strip()[-600:]}")
    source, copy = Path(json.loads(told.stdout)["Dir"]), folder / "source"
    packages = closure(source, program.services)
    _copy(source, copy, packages)
    _cut(copy, packages, set(program.services))
    modfile = folder / "go.mod"
    modfile.write_text(f"{(program.module / 'go.mod').read_text()}\nreplace {MODULE} => {copy}\n")
    shutil.copyfile(program.module / "go.sum", folder / "go.sum")
    return modfile


def closure(source: Path, services: Collection[str]) -> set[str]:
    """Packages of the module that the services' packages need, their own among them, by folder."""
    found: set[str] = set()
    waiting = [f"{_SERVICES}/{service}" for service in services]
    while waiting:
        package = waiting.pop()
        if package in found or package == str(_CLIENTS.parent):
            continue
        found.add(package)
        waiting += [name.removeprefix(f"{MODULE}/") for name in _imports(source / package) if name.startswith(f"{MODULE}/")]
    return found


def _imports(package: Path) -> set[str]:
    if not package.is_dir():
        raise ToolError(f"{MODULE} has no package {package.name}")
    files = (file for file in package.glob("*.go") if not file.name.endswith("_test.go"))
    return {name for file in files for name in _IMPORT.findall(_head(file.read_text("utf-8")))}


def _head(text: str) -> str:
    """A Go file down to the end of its imports."""
    return re.split(r"^(?:func|type|const|var) ", text, maxsplit=1, flags=re.M)[0]


def _copy(source: Path, copy: Path, packages: Collection[str]) -> None:
    """All but the services that nobody needs; their settings are embedded. The module cache is read-only, the copy is not."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        package = Path(folder).relative_to(source)
        if str(package.parent) == _SERVICES and str(package) not in packages:
            return set(names) - {_SETTINGS}
        return set(_LEFT_OUT(folder, names))

    shutil.copytree(source, copy, ignore=left_out, copy_function=shutil.copyfile)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _cut(copy: Path, packages: Collection[str], services: Collection[str]) -> None:
    registry = (copy / _REGISTRY).read_text("utf-8")
    registry = re.sub(rf'\t"{MODULE}/{_SERVICES}/(\w+)"\n', lambda line: line[0] if line[1] in services else "", registry)
    registry = re.sub(r"\t\t(\w+)\.ServicePackage\(ctx\),\n", lambda line: line[0] if line[1] in services else "", registry)
    (copy / _REGISTRY).write_text(registry, "utf-8")
    used = {
        service
        for package in {*packages, "internal/tags/tagpolicy"}
        for service in _SDK.findall("\n".join(_imports(copy / package)))
    }
    clients = (copy / _CLIENTS).read_text("utf-8")
    clients = re.sub(rf'\t"{_SDK.pattern}"\n', lambda line: line[0] if line[1] in used else "", clients)
    method = re.compile(r"\nfunc \(c \*AWSClient\) \w+\(.*?\) \*(\w+)\.Client \{\n.*?\n\}\n", re.S)
    clients = method.sub(lambda found: found[0] if found[1] in used else "", clients)
    (copy / _CLIENTS).write_text(clients, "utf-8")
