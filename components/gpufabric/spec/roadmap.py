"""What the schema foresees and this release does not build yet. Each answers in one line instead of half-working."""

from collections.abc import Mapping
from typing import Any

from gpufabric.spec.problems import Problem, SpecError, shown

CLOUDS = ("aws", "gcp", "nebius", "azure", "oci", "coreweave", "kubernetes")
BUILT_CLOUDS = ("kubernetes", "aws", "gcp")

_BUILT = f"{', '.join(BUILT_CLOUDS[:-1])} or {BUILT_CLOUDS[-1]}"
_LATER_KEYS = ("scheduler",)
_BUILT_KEYS = {"kubernetes": ("scheduler",), "gcp": ("scheduler",)}
_CLOUD_KEYS = {
    "region": "the cluster already stands somewhere",
    "zone": "the cluster already stands somewhere",
    "network": "the cluster brings its network",
    "api_access": "the cluster has its API endpoint, and cluster.existing says how to reach it",
    "tags": "no cloud resource is created that could carry a tag",
}
_CLOUD_GROUP_KEYS = {
    "disk_tier": "the machines' disks exist, and local_disk names a folder of theirs",
    "capacity": "the machines exist",
}


def refuse_what_is_not_built(raw: Mapping[str, Any]) -> tuple[list[Problem], dict[str, Any]]:
    """Problems for all that is foreseen and not built, and the rest of ``raw``, which the models can read.

    Raises :class:`SpecError` for a cloud that is missing, unknown or not built: its other keys cannot be judged.
    """
    cloud = raw.get("cloud")
    later = [name for name in CLOUDS if name not in BUILT_CLOUDS]
    if cloud is None:
        raise SpecError([Problem("cloud", "missing", f"write {_BUILT}")])
    if cloud not in CLOUDS:
        fix = f"write {_BUILT} (not built yet: {', '.join(later)})"
        raise SpecError([Problem("cloud", f"{shown(cloud)} is not a known cloud", fix)])
    if cloud in later:
        fix = "a cluster that exists there can be used today with cloud: kubernetes"
        raise SpecError([Problem("cloud", f"{cloud} is not built yet", fix)])
    rest, problems = dict(raw), []
    if raw.get("orchestrator") in ("vm", "slurm"):
        reason = f"{rest.pop('orchestrator')} is not built yet"
        problems.append(Problem("orchestrator", reason, "write kubernetes, or leave it out"))
    for key in _LATER_KEYS:
        if key not in _BUILT_KEYS.get(cloud, ()) and rest.pop(key, _ABSENT) is not _ABSENT:
            problems.append(Problem(key, "not built yet", "leave it out"))
    if cloud != "kubernetes":
        return problems, rest
    problems += _inapplicable(rest, _CLOUD_KEYS, "")
    if isinstance(raw.get("node_groups"), list):
        rest["node_groups"] = [dict(group) if isinstance(group, Mapping) else group for group in raw["node_groups"]]
        for position, group in enumerate(rest["node_groups"]):
            if isinstance(group, dict):
                problems += _inapplicable(group, _CLOUD_GROUP_KEYS, f"node_groups[{position}].")
    return problems, rest


_ABSENT = object()


def _inapplicable(raw: dict[str, Any], keys: Mapping[str, str], path: str) -> list[Problem]:
    """Take keys that mean nothing here out of ``raw``, with a problem for each."""
    return [
        Problem(f"{path}{key}", f"does not apply to cloud: kubernetes ({why})", "leave it out")
        for key, why in keys.items()
        if raw.pop(key, _ABSENT) is not _ABSENT
    ]
