"""A docker archive: the one tar format that `ctr images import`, `docker load` and `skopeo copy docker-archive:` all read."""

import hashlib
import io
import json
import platform
import tarfile
from datetime import UTC, datetime
from pathlib import Path

# Every time stamp inside an image, so that two builds differ only where their packages do.
IMAGE_EPOCH = 1767225600  # 2026-01-01

# The uname name of a machine -> the name Go and therefore every container runtime uses.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(archive: Path, reference: str, layer: Path, entrypoint: list[str] | None = None) -> None:
    """Wrap one root file system tar as the image `reference` (name:version)."""
    layer_id = _sha256(layer)
    config = _encode(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "os": "linux",
            "created": datetime.fromtimestamp(IMAGE_EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "config": {
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": entrypoint,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_id}"]},
        }
    )
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = _encode([{"Config": config_name, "RepoTags": [reference], "Layers": [f"{layer_id}.tar"]}])
    with tarfile.open(archive, "w") as tar:
        tar.addfile(_entry(config_name, len(config)), io.BytesIO(config))
        tar.addfile(_entry("manifest.json", len(manifest)), io.BytesIO(manifest))
        with layer.open("rb") as content:
            tar.addfile(_entry(f"{layer_id}.tar", layer.stat().st_size), content)


def read_reference(archive: Path) -> str:
    """The name:version that an archive was written for."""
    with tarfile.open(archive) as tar:
        manifest = tar.extractfile("manifest.json")
        if manifest is None:
            raise ValueError(f"{archive} is no docker archive")
        return str(json.load(manifest)[0]["RepoTags"][0])


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mtime = IMAGE_EPOCH
    return entry


def _encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
