"""What goes into an image (images.toml), and where the finished archive lies in the cache."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.folders import cache_folder

HERE = Path(__file__).resolve().parent
# What decides the content; a change to any of these yields another archive. The torch image's own file leaves the others alone.
SOURCES = ("images.toml", "archive.py", "pause.c")
SOURCES_OF = {"torch": ("torch.toml", "archive.py")}


@dataclass(frozen=True)
class Recipe:
    """One table of images.toml."""

    key: str
    name: str
    version: str
    packages: tuple[str, ...]
    excluded_paths: tuple[str, ...]
    after_install: str
    sources: tuple[str, ...] = SOURCES

    @property
    def reference(self) -> str:
        """What a pod spec says."""
        return f"{self.name}:{self.version}"

    @property
    def archive(self) -> Path:
        """The docker archive; it appears by a rename, so if it exists it is whole."""
        digest = hashlib.sha256(b"\0".join((HERE / source).read_bytes() for source in self.sources)).hexdigest()
        return cache_folder() / "images" / f"{self.key}-{self.version}-{digest[:12]}.tar"


def read_recipe(key: str) -> Recipe:
    """The recipe of `gate`, `pause` or `torch`."""
    sources = SOURCES_OF.get(key, SOURCES)
    row = tomllib.loads((HERE / sources[0]).read_text())[key]
    return Recipe(
        key=key,
        name=row["name"],
        version=row["version"],
        packages=tuple(row.get("packages", ())),
        excluded_paths=tuple(row.get("excluded_paths", ())),
        after_install=row.get("after_install", ""),
        sources=sources,
    )
