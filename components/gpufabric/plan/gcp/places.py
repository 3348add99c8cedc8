"""What follows from the name of a zone or region."""

from gpufabric.plan.places import zone_problems
from gpufabric.spec import Problem


def region_of(zone: str) -> str:
    """``us-central1`` for ``us-central1-a``."""
    return zone.rpartition("-")[0]


def place_problems(region: str, zone: str) -> list[Problem]:
    """A zone that is not the region's."""
    return zone_problems(zone, region, region_of(zone), f"{region}-a")
