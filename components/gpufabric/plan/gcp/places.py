"""What follows from the name of a zone or region."""

from gpufabric.spec import Problem


def region_of(zone: str) -> str:
    """``us-central1`` for ``us-central1-a``."""
    return zone.rpartition("-")[0]


def place_problems(region: str, zone: str) -> list[Problem]:
    """A zone that is not the region's."""
    if region_of(zone) == region:
        return []
    return [Problem("zone", f"{zone} is not in {region}", f"write a zone such as {region}-a")]
