"""How machines are had: one flat mapping with a ``kind``; which keys go with which kind is checked in ring 3."""

from gpufabric.spec.base import Wish
from gpufabric.spec.cloud.times import Instant


class CapacitySpec(Wish):
    """What the capacity of every cloud may say. Each cloud adds its kinds."""

    id: str | None = None
    """Id of a reservation or block that exists."""
    starts_at: Instant | None = None
    """Begin of the capacity's window in UTC, such as ``'2026-12-01T11:30:00Z'``; before it there are no nodes."""
    ends_at: Instant | None = None
    """End of the capacity's window in UTC; after it there are no nodes."""
