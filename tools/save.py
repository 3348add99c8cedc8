"""A checkpoint saved by a real pod with the profile of its group: how long training waited, and when it was in the bucket."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gpufabric.validation.api import Api, path
from tools.errors import ToolError

Profile: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""``apply_to`` of a pod profile, or of a mount alone."""
NAME, NAMESPACE, CONTAINER = "gpufabric-save", "default", "save"
SECONDS = 180
"""For the pod to start, and for both waits in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What one pod said of its save; seconds count from the first byte written."""

    node: str
    size: int
    close_s: float
    bucket_s: float
    sha256: str


def save(api: Api, profile: Profile, image: str, *, folder: str, key: str, mib: int) -> Saved:
    """Run the Job and take it away again; raises :class:`ToolError` with the pod's own words.

    ``folder``: where pods of the profile have the checkpoints' mount. ``key``: of the object.
    """
    jobs = path("jobs", namespace=NAMESPACE, group="batch")
    _remove(api)
    api.create(jobs, {"metadata": {"name": NAME}, "spec": job_spec(profile, image, folder=folder, key=key, mib=mib)})
    try:
        pod = _ended(api)
        said = api.log(NAMESPACE, pod["metadata"]["name"], CONTAINER, tail_lines=20).strip()
        if pod["status"]["phase"] != "Succeeded":
            raise ToolError(f"the save failed on {pod['spec']['nodeName']}: {said}")
        return Saved(node=pod["spec"]["nodeName"], **json.loads(said.splitlines()[-1]))
    finally:
        _remove(api)


def job_spec(profile: Profile, image: str, *, folder: str, key: str, mib: int) -> Mapping[str, Any]:
    """An ordinary Job, with the profile in it."""
    program = Path(__file__).with_name("save_in_pod.py").read_text("utf-8")
    command = ["python3", "-c", program, folder, key, str(mib)]
    pod = {"restartPolicy": "Never", "containers": [{"name": CONTAINER, "image": image, "command": command}]}
    return profile({"backoffLimit": 0, "template": {"spec": pod}})


def described(saved: Saved, in_bucket: str) -> str:
    """The figures as text. ``in_bucket``: checksum of the object that the server keeps."""
    closed, kept = (f"{each:6.2f} s   {saved.size / 1e6 / each:7.1f} MB/s" for each in (saved.close_s, saved.bucket_s))
    same = "is that of the pod's file" if in_bucket == saved.sha256 else "DIFFERS from that of the pod's file"
    return "\n".join(
        [
            f"checkpoint: {saved.size >> 20} MiB saved by a pod on {saved.node}, through the cache of its node, to a bucket",
            f"    closed after         {closed}   what training waits for",
            f"    in the bucket after  {kept}   what the barrier waits for",
            f"    sha256 of the object in the bucket {same}",
        ]
    )


def _ended(api: Api) -> dict[str, Any]:
    """The Job's pod, once it has ended."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for pod in api.list(path("pods", namespace=NAMESPACE), labels=f"job-name={NAME}"):
            if pod["status"]["phase"] in ("Succeeded", "Failed"):
                return pod
        time.sleep(0.2)
    raise ToolError(f"the save did not end within {SECONDS} s; kubectl describe pod -l job-name={NAME}")


def _remove(api: Api) -> None:
    """The Job with its pod, and its name free again."""
    if not api.delete(path("jobs", NAME, namespace=NAMESPACE, group="batch"), propagation="Foreground"):
        return
    deadline = time.monotonic() + SECONDS
    while api.find(path("jobs", NAME, namespace=NAMESPACE, group="batch")) and time.monotonic() < deadline:
        time.sleep(0.2)
