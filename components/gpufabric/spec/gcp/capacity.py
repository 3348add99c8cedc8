"""How the machines of a group are had on Google Cloud."""

from typing import Annotated, Literal

from pydantic import Field

from gpufabric.spec.base import WholeNumber
from gpufabric.spec.cloud import CapacitySpec
from gpufabric.spec.gcp.ids import ReservationId, ResourceName


class GcpCapacitySpec(CapacitySpec):
    """Capacity: one flat mapping with a ``kind``."""

    kind: Literal["on_demand", "spot", "reservation", "flex_start", "queued"] = "on_demand"
    """``on_demand``, ``spot``, ``reservation`` (one that exists, of a calendar too), ``flex_start`` (nodes come when
    there are some, for seven days at most) or ``queued`` (all nodes of a job come at once, by Kueue's request, as long)."""
    id: ReservationId | None = None
    """Name of the reservation, or ``projects/PROJECT/reservations/NAME`` where another project shares it. Required with
    ``reservation``."""
    block: ResourceName | None = None
    """Name of a block of the reservation, which must be the project's own. Default: any of its blocks."""
    placement_policy: ResourceName | None = None
    """Name of the compact placement policy that the reservation was made with. Default: none; on demand GKE makes one."""
    max_run_seconds: Annotated[WholeNumber, Field(ge=600, le=604_800)] | None = None
    """How long a node of ``flex_start`` or ``queued`` lives, 600 to 604,800 seconds. Default: seven days."""
