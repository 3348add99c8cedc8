"""What pods on a fabric have beside resources and environment, as data; a plugin and its sidecar stand in one row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from gpufabric.hardware.tables import Row, named_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPod(Row):
    """One row of ``data/fabric_pods.toml``, whose head says what each key means."""

    name: str
    plugin: str
    host_interface: str
    host_networks: tuple[str, ...] = ()
    network_name: str
    network_mode: str
    first_interface: int
    device_class: str = ""
    environment_script: str = ""
    capabilities: tuple[str, ...] = ()
    host_paths: Mapping[str, str]
    empty_dirs: tuple[str, ...] = ()
    mounts: Mapping[str, str]
    sidecar: str = ""
    sidecar_image: str = ""
    sidecar_command: tuple[str, ...] = ()
    sidecar_capabilities: tuple[str, ...] = ()
    sidecar_environment: Mapping[str, str] = field(default_factory=dict)
    sidecar_mounts: Mapping[str, str] = field(default_factory=dict)
    sidecar_devices: tuple[str, ...] = ()
    sidecar_ready_file: str = ""
    sidecar_ready_s: int = 0

    def rail_networks(self, rails: int) -> tuple[str, ...]:
        """Names of the rails' networks in the cluster, in rail order."""
        return tuple(self.network_name.format(rail) for rail in range(rails))

    def networks(self, rails: int) -> tuple[str, ...]:
        """All additional networks of a node, in the node pool's order."""
        return (*self.host_networks, *self.rail_networks(rails))


@cache
def fabric_pods() -> Mapping[str, FabricPod]:
    """All rows by the fabric's name. A fabric without one needs nothing of this kind."""
    return named_rows(FabricPod, "fabric_pods.toml")
