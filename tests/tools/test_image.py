"""Image archives have the format that container runtimes read, and the same input gives the same bytes."""

import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path

from tools.folders import REPOSITORY
from tools.image.archive import read_reference, write_archive
from tools.image.recipe import read_recipe


def a_layer(folder: Path) -> Path:
    (folder / "file").write_text("content")
    layer = folder / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(folder / "file", "file")
    return layer


def test_the_archive_is_what_docker_save_would_write(tmp_path: Path) -> None:
    layer, archive = a_layer(tmp_path), tmp_path / "image.tar"
    write_archive(archive, "example.com/image:1", layer, entrypoint=["/pause"])
    with tarfile.open(archive) as tar:
        content = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    (image,) = json.loads(content["manifest.json"])
    assert image["RepoTags"] == ["example.com/image:1"]
    assert image["Config"] == f"{hashlib.sha256(content[image['Config']]).hexdigest()}.json"
    config = json.loads(content[image["Config"]])
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer.read_bytes()).hexdigest()}"]
    assert config["config"]["Entrypoint"] == ["/pause"]
    assert content[image["Layers"][0]] == layer.read_bytes()
    assert read_reference(archive) == "example.com/image:1"


def test_the_same_layer_gives_the_same_archive(tmp_path: Path) -> None:
    layer = a_layer(tmp_path)
    for name in ("a", "b"):
        write_archive(tmp_path / name, "example.com/image:1", layer)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_recipes_name_a_pinned_version(cache: Path) -> None:
    gate, pause = read_recipe("gate"), read_recipe("pause")
    assert gate.reference == f"localhost/gpufabric/gate:{gate.version}"
    assert gate.version != "latest"
    assert {"openmpi-bin", "openssh-server", "python3-mpi4py"} <= set(gate.packages)
    assert gate.archive.parent == pause.archive.parent == cache / "images"


def test_howto_names_the_archive_and_the_reference() -> None:
    command = [sys.executable, "-m", "tools.image"]
    path, howto = (
        subprocess.run([*command, what], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        for what in ("path", "howto")
    )
    assert path.strip() in howto
    assert f"ctr -n k8s.io images import {path.strip()}" in howto
    assert "docker push" in howto
