"""Wishes for mounts that are granted as they stand."""

from typing import Any

S3: dict[str, Any] = {"kind": "s3", "name": "acme-weights", "region": "us-east-2", "prefix": "runs/llama"}
GCS: dict[str, Any] = {"kind": "gcs", "name": "acme-weights"}
AZURE: dict[str, Any] = {"kind": "azure", "name": "weights", "account": "acmeweights"}
MOUNT: dict[str, Any] = {
    "name": "ckpt",
    "bucket": S3,
    "path": "/checkpoints",
    "node_selector": {"pool": "train"},
    "image": "ghcr.io/acme/gate:1.2",
}
CSI: dict[str, dict[str, Any]] = {
    "gcsfuse": {"name": "train-model", "bucket": GCS, "path": "/models", "driver": "gcsfuse"},
    "mountpoint": {"name": "train-model", "bucket": S3, "path": "/models", "driver": "mountpoint"},
}
CACHED: dict[str, Any] = {**MOUNT, "cache_path": "/mnt/nvme/cache", "cache_gib": 500}
