"""Prices of machines: dated snapshots, for a first figure and never for a bill."""

from dataclasses import dataclass
from functools import cache

from gpufabric.hardware.tables import Row, listed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePrice(Row):
    """A row ``[[machine]]`` of ``data/prices.toml``: US dollars per hour and machine; None is not known."""

    cloud: str
    machine_type: str
    region: str
    on_demand_usd_per_hour: float | None = None
    spot_usd_per_hour: float | None = None


@cache
def machine_prices() -> tuple[MachinePrice, ...]:
    """All prices, in the order of the table."""
    return tuple(listed_rows(MachinePrice, "prices.toml", "machine"))


def find_price(cloud: str, machine_type: str, region: str) -> MachinePrice | None:
    """The price of a machine in a region, or None: then the cost is said to be unknown, and nothing is guessed."""
    wanted = (cloud, machine_type, region)
    return next((row for row in machine_prices() if (row.cloud, row.machine_type, row.region) == wanted), None)
