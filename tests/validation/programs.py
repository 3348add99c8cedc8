"""A PATH of a test's own for the shell scripts: the real tools that are named, and fakes of what a node has."""

import shutil
from dataclasses import dataclass
from pathlib import Path

SHELL = shutil.which("dash") or "/bin/sh"


@dataclass(frozen=True)
class Programs:
    """The only folder in a script's PATH."""

    folder: Path

    def link(self, *names: str) -> None:
        """Let the script have this machine's own tools of these names."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            found = shutil.which(name)
            assert found, name
            (self.folder / name).symlink_to(found)

    def fake(self, name: str, text: str) -> None:
        """A program that is this text of shell."""
        file = self.folder / name
        file.write_text(f"#!{SHELL}\n{text}\n", encoding="utf-8")
        file.chmod(0o755)
