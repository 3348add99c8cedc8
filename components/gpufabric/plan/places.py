"""Regions and zones, as far as clouds share them."""

from gpufabric.spec import Problem


def zone_problems(zone: str, region: str, zone_region: str, example: str) -> list[Problem]:
    """A zone of another region. ``zone_region``: the zone's own; ``example``: a zone of ``region``."""
    return [] if zone_region == region else [Problem("zone", f"{zone} is not in {region}", f"write a zone such as {example}")]
