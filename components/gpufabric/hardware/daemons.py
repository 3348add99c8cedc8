"""Device plugins, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon(Row):
    """One row of ``data/daemons.toml``, whose head says what each key means."""

    name: str
    image: str
    resource: str
    node_label: str
    node_label_value: str | None = None
    host_network: bool
    privileged: bool
    host_paths: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)


@cache
def daemons() -> Mapping[str, Daemon]:
    """All device plugins by the name of their DaemonSet."""
    return named_rows(Daemon, "daemons.toml")


def daemon(name: str) -> Daemon:
    """One device plugin; raises :class:`UnknownHardwareError`."""
    try:
        return daemons()[name]
    except KeyError:
        raise UnknownHardwareError("device plugin", name, daemons()) from None


def daemon_of(resource: str) -> Daemon:
    """The device plugin that offers ``resource``; raises :class:`UnknownHardwareError`."""
    by_resource = {row.resource: row for row in daemons().values()}
    try:
        return by_resource[resource]
    except KeyError:
        raise UnknownHardwareError("device plugin for the resource", resource, by_resource) from None
