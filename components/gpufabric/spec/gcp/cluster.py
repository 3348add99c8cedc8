"""Wishes about the GKE cluster: who reaches its API, who administers it, when it is upgraded, what runs beside GPU nodes."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber, Wish, matching
from gpufabric.spec.cloud import ApiAccess
from gpufabric.spec.gcp.ids import ClusterName, IamMember, ProjectId, Region, Zone
from gpufabric.spec.gcp.labels import Labels

GkeVersionText = Annotated[str, matching(r"1\.[0-9]{2}(\.[0-9]{1,3}(-gke\.[0-9]{1,9})?)?", "a GKE version", "'1.35'")]
# ARM: T2A, C4A, N4A, A4X (Compute Engine, Arm VMs); GPU machines are no place for controllers.
_MACHINE = r"(?!t2a-|c4a-|n4a-|a[234]x?-|g[24]-)[a-z][a-z0-9]{1,5}-[a-z0-9-]{2,30}"


class ExistingGke(Wish):
    """A GKE cluster that exists. Nothing of it is changed."""

    name: ClusterName
    """Name of the cluster."""
    location: Annotated[str, matching(r"[a-z]+-[a-z]+[0-9]{1,2}(-[a-z0-9]+)?", "a region or zone", "us-central1")] | None = None
    """Its region, or its zone if it is zonal. Default: the region of the stack."""


class GkeSystemNodes(Wish):
    """CPU nodes without taint, where DNS, controllers and the gate's coordinator run."""

    machine_type: Annotated[str, matching(_MACHINE, "a machine type with an x86 processor and no GPU", "e2-standard-4")] = (
        "e2-standard-4"
    )
    """Machine type, x86. Default ``e2-standard-4``: 4 vCPU, 16 GiB."""
    nodes: Annotated[WholeNumber, Field(ge=2, le=50)] = 2
    """How many, 2 to 50. Default 2: one may fail."""


class GkeClusterSpec(Wish):
    """The cluster, as it stands under ``cluster`` in a stack file."""

    kubernetes_version: GkeVersionText | None = None
    """Version of GKE in quotes, such as ``'1.35'`` or ``'1.35.1-gke.1396000'``. Default: the table's."""
    release_channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """Channel that versions come from; minor versions and nodes are never upgraded by themselves. Default ``regular``."""
    admin_principals: list[IamMember] = Field(default_factory=list)
    """IAM members that administer this cluster, beside who may already. Default: none."""
    system_nodes: GkeSystemNodes = GkeSystemNodes()
    """The CPU nodes. Default: two ``e2-standard-4``."""
    deletion_protection: bool = False
    """Refuse to delete the cluster until this is taken back. Default: false."""
    existing: ExistingGke | None = None
    """A cluster that exists, instead of the keys above but the version. Default: one is made."""


class GkeClusterWish(GkeClusterSpec):
    """What one cluster component is asked for."""

    project: ProjectId
    """Project of the cluster."""
    region: Region
    """Region of the control plane."""
    zone: Zone | None = None
    """Zone of the system nodes. Required, unless the cluster exists."""
    api_access: ApiAccess | None = None
    """From where the API can be called. Required, unless the cluster exists."""
    csi_drivers: list[Literal["gcsfuse", "lustre", "filestore"]] = Field(default_factory=list)
    """Storage drivers that GKE runs. Default: that of persistent disks alone."""
    tags: Labels = Field(default_factory=dict)
    """Labels of everything that is made."""
