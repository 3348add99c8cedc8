"""A sample as the barrier, Prometheus and the cluster read it."""

import time
from collections.abc import Mapping
from typing import Any, Final

from gpufabric.mounts.contract import LABEL_MOUNT, REPORT_BYTES, REPORT_FILES, REPORT_NODE, report_name
from gpufabric.mounts.sample import Sample
from gpufabric.validation.prometheus import family

_HELP: Final[Mapping[str, str]] = {
    "gpufabric_mount_up": "1 while the bucket is mounted and rclone answers.",
    "gpufabric_mount_dirty_files": "Files that are not in the bucket yet, open ones included.",
    "gpufabric_mount_dirty_bytes": "Bytes of these files.",
    "gpufabric_mount_uploads_queued": "Uploads that wait.",
    "gpufabric_mount_uploads_in_progress": "Uploads that run.",
    "gpufabric_mount_uploads_failing": "Files whose upload failed and is tried again.",
    "gpufabric_mount_lag_seconds": "Age of the oldest write that is not in the bucket yet.",
    "gpufabric_mount_cache_bytes": "Size of the cache.",
    "gpufabric_mount_out_of_space": "1 while the cache finds no room.",
    "gpufabric_mount_unrecorded_files": "Files set aside because their record was lost in a crash; a person has to look.",
}


def status_text(sample: Sample, *, run: str, heart: int, number: int) -> str:
    """Lines of key=value, for a shell. ``number`` counts samples of this ``run`` of the agent, ``heart`` its beats."""
    lines = {
        "run": run,
        "heart": heart,
        "sample": number,
        "state": "mounted" if sample.mounted else "down",
        "dirty_files": sample.left,
        "dirty_bytes": sample.dirty.bytes,
        "failing": sample.failing,
        "message": sample.message,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def metrics_text(sample: Sample, *, mount: str, node: str) -> str:
    """Text format of Prometheus."""
    dirty = sample.dirty
    values = (
        float(sample.mounted),
        sample.left,
        dirty.bytes,
        sample.queued,
        sample.uploading,
        sample.failing,
        max(0.0, time.time() - dirty.oldest) if dirty.oldest else 0.0,
        sample.cached_bytes,
        float(sample.out_of_space),
        dirty.unrecorded,
    )
    labels = {"mount": mount, "node": node}
    return "".join(
        family(name, "gauge", about, [(labels, float(value))])
        for (name, about), value in zip(_HELP.items(), values, strict=True)
    )


def report(sample: Sample, *, mount: str, node: str, namespace: str) -> dict[str, Any]:
    """The ConfigMap by which the cluster knows that this node holds files that are nowhere else."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": report_name(mount, node), "namespace": namespace, "labels": {LABEL_MOUNT: mount}},
        "data": {REPORT_NODE: node, REPORT_FILES: str(sample.left), REPORT_BYTES: str(sample.dirty.bytes)},
    }
