"""DaemonSets that must run on closed nodes, by the image that they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededDaemonSet(Row):
    """One row of ``data/closed_nodes.toml``, whose head says what each key means."""

    name: str
    does: str
    images: tuple[str, ...]
    tolerates_hold: bool
    toleration_at: str


@cache
def needed_daemonsets() -> Mapping[str, NeededDaemonSet]:
    """All known ones by name."""
    return named_rows(NeededDaemonSet, "closed_nodes.toml")


def find_daemonset(image: str) -> NeededDaemonSet | None:
    """The row of an image, from whatever registry, with whatever tag and digest; None for one that no closed node needs."""
    head, slash, last = image.partition("@")[0].rpartition("/")
    repository = f"/{head}{slash}{last.partition(':')[0]}"
    rows = needed_daemonsets().values()
    return next((row for row in rows if any(repository.endswith(f"/{ending}") for ending in row.images)), None)
