"""Wishes that every cloud shares: where, who may reach the API, tags, capacity, disks. Each cloud's room adds its own."""

from gpufabric.spec.cloud.access import ApiAccess
from gpufabric.spec.cloud.capacity import CapacitySpec
from gpufabric.spec.cloud.node_group import CloudNodeGroupSpec
from gpufabric.spec.cloud.times import Instant, instant

__all__ = ["ApiAccess", "CapacitySpec", "CloudNodeGroupSpec", "Instant", "instant"]
