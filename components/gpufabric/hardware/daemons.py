"""DaemonSets of fabrics and devices, as data: device plugins, and installers of NCCL plugins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.hardware.tables import Row, UnknownHardwareError, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon(Row):
    """One row of ``data/daemons.toml``, whose head says what each key means."""

    name: str
    image: str
    resource: str = ""
    node_label: str
    node_label_values: tuple[str, ...] = ()
    host_network: bool
    host_pid: bool = False
    privileged: bool
    tolerates_all: bool = False
    host_paths: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    installs: str = ""
    install_script: str = ""
    install_mounts: Mapping[str, str] = field(default_factory=dict)
    host_script: str = ""

    @property
    def plugin(self) -> str:
        """The image of what it installs; empty for a device plugin."""
        return fabric_pods()[self.installs].plugin if self.installs else ""

    @property
    def sidecar_image(self) -> str:
        """The sidecar of the pods that goes with that image and no other; empty where there is none."""
        return fabric_pods()[self.installs].sidecar_image if self.installs else ""


@cache
def daemons() -> Mapping[str, Daemon]:
    """All of them by the name of their DaemonSet."""
    return named_rows(Daemon, "daemons.toml")


def daemons_for(fabrics: Iterable[str]) -> tuple[str, ...]:
    """Names of what nodes with these fabrics run beside their cloud's own device plugin: their label is the fabric's name."""
    wanted = set(fabrics)
    return tuple(name for name, row in sorted(daemons().items()) if wanted & set(row.node_label_values))


def daemon(name: str) -> Daemon:
    """One of them; raises :class:`UnknownHardwareError`."""
    try:
        return daemons()[name]
    except KeyError:
        raise UnknownHardwareError("device plugin", name, daemons()) from None


def daemon_of(resource: str) -> Daemon:
    """The device plugin that offers ``resource``; raises :class:`UnknownHardwareError`."""
    by_resource = {row.resource: row for row in daemons().values() if row.resource}
    try:
        return by_resource[resource]
    except KeyError:
        raise UnknownHardwareError("device plugin for the resource", resource, by_resource) from None
