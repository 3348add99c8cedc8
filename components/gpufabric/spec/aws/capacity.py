"""How the machines of a group are had on AWS."""

from typing import Literal

from gpufabric.spec.aws.ids import PlacementGroupName, ReservationId
from gpufabric.spec.cloud import CapacitySpec


class AwsCapacitySpec(CapacitySpec):
    """Capacity: one flat mapping with a ``kind``."""

    kind: Literal["on_demand", "spot", "reservation", "capacity_block"] = "on_demand"
    """``on_demand``, ``spot``, ``reservation`` (an On-Demand Capacity Reservation) or ``capacity_block`` (paid in advance)."""
    id: ReservationId | None = None
    """Id of the reservation or block, ``cr-...``. Required with ``reservation`` and ``capacity_block``."""
    placement_group: PlacementGroupName | None = None
    """Name of the placement group that the reservation was made in. Default: none. On demand a group of its own is made."""
    lookup: bool = False
    """Ask AWS at preview whether zone, type, count and window of the block fit. Default: false, and nothing is asked."""
