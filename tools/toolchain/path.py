"""The folder to put first on PATH: symbolic links to exactly the programs that this machine should use."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.folders import REPOSITORY, cache_folder, locked
from tools.toolchain.programs import Program

LANGUAGE_HOST = REPOSITORY / "tools" / "language_host" / "pulumi-language-python"


@dataclass(frozen=True)
class Choice:
    """What this machine uses: an official Pulumi where there is one, and the pinned programs for the rest."""

    official_pulumi: str | None
    programs: tuple[Program, ...]

    @property
    def links(self) -> dict[str, Path]:
        """Name on PATH -> file."""
        links = {p.name: p.installed for p in self.programs}
        if self.official_pulumi is None:
            links[LANGUAGE_HOST.name] = LANGUAGE_HOST
        return links


def choose(programs: Iterable[Program], search_path: str | None = None) -> Choice:
    """Leave out the engine's programs where an official Pulumi is installed: it downloads its provider plugins itself."""
    official = find_official_pulumi(search_path)
    wanted = tuple(p for p in programs if p.group != "engine" or official is None)
    return Choice(official, wanted)


def find_official_pulumi(search_path: str | None = None) -> str | None:
    """The `pulumi` on PATH, if its language host lies there too. Our own links, put there by an earlier run, do not count."""
    folders = (os.environ.get("PATH", "") if search_path is None else search_path).split(os.pathsep)
    foreign = os.pathsep.join(f for f in folders if f and not _is_ours(Path(f)))
    pulumi = shutil.which("pulumi", path=foreign)
    host = shutil.which("pulumi-language-python", path=foreign)
    return pulumi if pulumi and host else None


def _is_ours(folder: Path) -> bool:
    return folder.absolute().parent == cache_folder() / "path"


def make_path_folder(choice: Choice) -> Path:
    """Make the folder. It is named by its content: another checkout with other pins gets another one."""
    links = {name: target for name, target in choice.links.items() if target.exists()}
    text = "".join(f"{name}\0{target}\n" for name, target in sorted(links.items()))
    folder = cache_folder() / "path" / hashlib.sha256(text.encode()).hexdigest()[:12]
    if folder.exists():
        return folder
    with locked(cache_folder() / "path"):
        if not folder.exists():
            unfinished = folder.with_name(f".{folder.name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            for name, target in links.items():
                (unfinished / name).symlink_to(target)
            unfinished.rename(folder)
    return folder
