"""Make the archives: the gate's root file system by mmdebstrap from this machine's own apt sources, pause by gcc."""

import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.errors import ToolError
from tools.folders import cache_folder, locked
from tools.image.archive import IMAGE_EPOCH, write_archive
from tools.image.recipe import HERE, Recipe, read_recipe
from tools.toolchain.debian import IMAGE, ensure_packages

# One after the other, the newer format first.
APT_SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))


def ensure_images() -> tuple[Recipe, Recipe]:
    """Build what is missing; returns the gate's and the pause image's recipe, whose archives now exist."""
    gate, pause = read_recipe("gate"), read_recipe("pause")
    _ensure({gate: _debian_layer, pause: _pause_layer})
    return gate, pause


def ensure_torch() -> Recipe:
    """Build the torch image if it is missing; nothing else asks for it."""
    recipe = read_recipe("torch")
    _ensure({recipe: _debian_layer})
    return recipe


def _ensure(builders: Mapping[Recipe, Callable[[Recipe, Path], None]]) -> None:
    if all(recipe.archive.exists() for recipe in builders):
        return
    ensure_packages(IMAGE)
    with locked(cache_folder() / "images", waiting="another image build is running; waiting for it"):
        for left in (cache_folder() / "images").glob(".build-*"):
            shutil.rmtree(left)  # of a killed build: the lock says that nobody is writing it
        for recipe, make_layer in builders.items():
            if not recipe.archive.exists():
                _build(recipe, make_layer)


def _build(recipe: Recipe, make_layer: Callable[[Recipe, Path], None]) -> None:
    print(f"image {recipe.reference}: building", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".build-", dir=recipe.archive.parent) as scratch:
        layer, unfinished = Path(scratch) / "layer.tar", Path(scratch) / "image.tar"
        make_layer(recipe, layer)
        entrypoint = [f"/{recipe.key}"] if recipe.key == "pause" else None
        write_archive(unfinished, recipe.reference, layer, entrypoint)
        unfinished.rename(recipe.archive)
    size_mib = recipe.archive.stat().st_size >> 20
    print(f"image {recipe.reference}: {size_mib} MiB in {time.monotonic() - started:.0f} s", flush=True)


def _debian_layer(recipe: Recipe, layer: Path) -> None:
    sources = next((path for path in APT_SOURCES if path.exists() and path.read_text().strip()), None)
    if sources is None:
        raise ToolError(f"the image is made of Debian packages and none of {', '.join(map(str, APT_SOURCES))} has a source")
    # As root, mmdebstrap mounts proc, sys and parts of dev into what it builds. In a mount namespace of its own, a build that
    # is killed leaves no mount behind, and what it left on disk can be deleted without reaching through one.
    isolated = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc") if os.geteuid() == 0 else ()
    _run(
        layer.parent,
        *isolated,
        "mmdebstrap",
        "--variant=minbase",
        f"--include={','.join(recipe.packages)}",
        '--aptopt=APT::Install-Recommends "false"',
        *(f"--dpkgopt=path-exclude={path}" for path in recipe.excluded_paths),
        f"--customize-hook={recipe.after_install}",
        "--skip=cleanup/run",  # after_install does it, and leaves what is needed there
        _release_name(),
        str(layer),
        str(sources),
    )


def _pause_layer(recipe: Recipe, layer: Path) -> None:
    program = layer.with_name(recipe.key)
    _run(layer.parent, "gcc", "-O2", "-static", "-s", "-o", str(program), str(HERE / "pause.c"))
    with tarfile.open(layer, "w") as tar:
        entry = tar.gettarinfo(program, arcname=recipe.key)
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode, entry.mtime = 0o755, IMAGE_EPOCH
        with program.open("rb") as content:
            tar.addfile(entry, content)


def _release_name() -> str:
    """The sources name the release of this machine; mmdebstrap wants the same name."""
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise ToolError("/etc/os-release has no VERSION_CODENAME: the gate image can be built on Debian only")


def _run(scratch: Path, *command: str) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(IMAGE_EPOCH), "TMPDIR": str(scratch)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"`{' '.join(command[:8])} ...` failed with status {done.returncode}:\n{done.stderr.strip()[-1500:]}")
