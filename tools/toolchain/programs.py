"""The table of programs (tools/programs.toml) and the identity of each build."""

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.errors import ToolError
from tools.folders import REPOSITORY, cache_folder

GROUPS = ("engine", "cluster", "addon", "extra", "provider-aws", "provider-google")
# Built only when asked for: `make toolchain` and the tests do without.
OPTIONAL = ("extra", "provider-aws", "provider-google")


@dataclass(frozen=True)
class Program:
    """One row of the table; `module` is the absolute folder of its Go module."""

    name: str
    version: str
    group: str
    module: Path
    package: str
    ldflags: tuple[str, ...]
    cold_seconds: int
    files: tuple[str, ...] = ()
    """Folders and files of the package's own Go module that are kept beside the program."""
    services: tuple[str, ...] = ()
    """Only these of a cloud's services, for its provider (tools/toolchain/fewer_services.py); empty for all other programs."""

    @cached_property
    def key(self) -> str:
        """Hash of everything that decides what the build yields, except the Go release: any supported one will do."""
        digest = hashlib.sha256()
        others = sorted(path.name for path in self.module.glob("*.go") if path.name != "main.go")
        for file in ("go.mod", "go.sum", "main.go", *others):
            path = self.module / file
            digest.update(f"{file}\0".encode() + (path.read_bytes() if path.exists() else b"") + b"\0")
        digest.update("\0".join([self.package, *self.ldflags, *self.files, *self.services]).encode())
        return digest.hexdigest()[:16]

    @property
    def installed(self) -> Path:
        """Where the finished program lies. The file appears by one rename: if it exists, it is whole."""
        return cache_folder() / "programs" / f"{self.name}-{self.version}-{self.key}" / self.name

    @property
    def share(self) -> Path:
        """Where its files lie, in the folders of their module; there before the program is."""
        return self.installed.with_name("share")


def read_programs(table: Path | None = None) -> list[Program]:
    """The programs in build order."""
    table = table or REPOSITORY / "tools" / "programs.toml"
    content = tomllib.loads(table.read_text())
    shared: dict[str, list[str]] = content.get("ldflags", {})
    return [_row(row, shared) for row in content["program"]]


def select(programs: list[Program], wanted: str) -> list[Program]:
    """Programs of a group, `all` (what the repository uses), or one by name."""
    if wanted == "all":
        return [p for p in programs if p.group not in OPTIONAL]
    chosen = [p for p in programs if wanted in (p.group, p.name)]
    if not chosen:
        known = ", ".join([*GROUPS, "all", *(p.name for p in programs)])
        raise ToolError(f"no program or group named {wanted!r}; known: {known}")
    return chosen


def _row(row: dict[str, Any], shared: dict[str, list[str]]) -> Program:
    flags: list[str] = []
    for flag in row["ldflags"]:
        flags += shared[flag[1:]] if flag.startswith("@") else [flag]
    if row["group"] not in GROUPS:
        raise ValueError(f"{row['name']}: unknown group {row['group']!r}")
    return Program(
        name=row["name"],
        version=row["version"],
        group=row["group"],
        module=REPOSITORY / row["module"],
        package=row["package"],
        ldflags=tuple(flag.format(version=row["version"]) for flag in flags),
        cold_seconds=row["cold_seconds"],
        files=tuple(row.get("files", ())),
        services=tuple(row.get("services", ())),
    )
