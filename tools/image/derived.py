"""Images of tests and mounts: the gate's image, which every node holds, and one small layer over it, which alone is carried."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.errors import ToolError
from tools.image.archive import ARCHITECTURES, IMAGE_EPOCH
from tools.image.recipe import read_recipe

_OCI = "application/vnd.oci.image"


def derive(archive: Path, reference: str, files: Mapping[str, str | bytes], without: Sequence[str] = ()) -> None:
    """Write an OCI archive: the gate's image with more executable ``files`` (path -> content) and ``without`` some paths.

    The gate's own layer is named by its digest and not in the archive: nodes have it (image_store).
    """
    with tarfile.open(read_recipe("gate").archive) as base:
        (described,) = json.loads(_read(base, "manifest.json"))
        (below,) = described["Layers"]
        below_size = base.getmember(below).size
        base_config = json.loads(_read(base, described["Config"]))
    below_digest = f"sha256:{below.removesuffix('.tar')}"
    layer = _layer({**files, **{str(Path(path).parent / f".wh.{Path(path).name}"): "" for path in without}})
    config = _encode(
        {
            **base_config,
            "architecture": ARCHITECTURES[platform.machine()],
            "rootfs": {"type": "layers", "diff_ids": [below_digest, _digest(layer)]},
        }
    )
    manifest = _encode(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _described(f"{_OCI}.config.v1+json", config),
            "layers": [
                {"mediaType": f"{_OCI}.layer.v1.tar", "digest": below_digest, "size": below_size},
                _described(f"{_OCI}.layer.v1.tar", layer),
            ],
        }
    )
    named = {"annotations": {"io.containerd.image.name": reference}}
    index = {"schemaVersion": 2, "manifests": [{**_described(f"{_OCI}.manifest.v1+json", manifest), **named}]}
    entries = {f"blobs/sha256/{_digest(blob).partition(':')[2]}": blob for blob in (layer, config, manifest)}
    entries |= {"oci-layout": _encode({"imageLayoutVersion": "1.0.0"}), "index.json": _encode(index)}
    archive.write_bytes(_tar(entries, 0o644))


def _layer(files: Mapping[str, str | bytes]) -> bytes:
    contents = {path.lstrip("/"): each.encode() if isinstance(each, str) else each for path, each in files.items()}
    return _tar(contents, 0o755)


def _tar(entries: Mapping[str, bytes], mode: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, IMAGE_EPOCH
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        raise ToolError(f"the archive of the gate's image lacks {name}; remove it, and it is built anew")
    return file.read()


def _described(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
