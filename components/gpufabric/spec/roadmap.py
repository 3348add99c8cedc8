"""What the schema foresees and this release does not build yet. Each answers in one line instead of half-working."""

from collections.abc import Mapping
from typing import Any

from gpufabric.spec.problems import Problem, SpecError

CLOUDS = ("aws", "gcp", "nebius", "azure", "oci", "coreweave", "kubernetes")
BUILT_CLOUDS = ("kubernetes",)

_LATER_KEYS = ("stores", "storage", "scheduler")
_CLOUD_KEYS = {
    "region": "the cluster already stands somewhere",
    "zone": "the cluster already stands somewhere",
    "network": "the cluster brings its network",
    "api_access": "the cluster's API endpoint exists; name its context under cluster.existing",
    "tags": "no cloud resource is created that could carry a tag",
}
_CLOUD_GROUP_KEYS = {
    "machine_type": "the machines exist; say what they hold with accelerators",
    "disk_tier": "the machines' disks exist",
    "capacity": "the machines exist",
}


def refuse_what_is_not_built(raw: Mapping[str, Any]) -> None:
    """Raise :class:`SpecError` for a cloud, an orchestrator or a part of the schema that is foreseen and not built.

    A cloud that is not built stops at that one line: its other keys cannot be judged yet.
    """
    cloud = raw.get("cloud")
    if cloud is None:
        raise SpecError([Problem("cloud", "missing", f"write one of {', '.join(BUILT_CLOUDS)}")])
    if cloud not in CLOUDS:
        raise SpecError([Problem("cloud", f"unknown cloud {cloud!r}", f"write one of {', '.join(CLOUDS)}")])
    if cloud not in BUILT_CLOUDS:
        fix = "a cluster that exists there can be used today with cloud: kubernetes"
        raise SpecError([Problem("cloud", f"{cloud} is not built yet", fix)])
    problems = []
    if raw.get("orchestrator") in ("vm", "slurm"):
        problems.append(
            Problem("orchestrator", f"{raw['orchestrator']} is not built yet on {cloud}", "write kubernetes, or leave it out")
        )
    problems += [Problem(key, "not built yet", "leave it out") for key in _LATER_KEYS if key in raw]
    problems += [
        Problem(key, f"does not apply to cloud: kubernetes: {why}", "leave it out")
        for key, why in _CLOUD_KEYS.items()
        if key in raw
    ]
    groups = raw.get("node_groups")
    for position, group in enumerate(groups if isinstance(groups, list) else []):
        if isinstance(group, Mapping):
            problems += [
                Problem(f"node_groups[{position}].{key}", f"does not apply to cloud: kubernetes: {why}", "leave it out")
                for key, why in _CLOUD_GROUP_KEYS.items()
                if key in group
            ]
    if problems:
        raise SpecError(problems)
