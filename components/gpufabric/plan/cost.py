"""What a stack's machines cost per hour, from the dated price table; a part that is not known makes the sum unknown."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpufabric.hardware.prices import find_price
from gpufabric.plan.cloud import HourlyCost


@dataclass(frozen=True, slots=True)
class Machines:
    """``count`` machines of one kind. ``way``: on_demand (a reservation costs the same), spot, or one without a price."""

    group: str
    machine_type: str
    count: int
    way: str


def hourly_cost(cloud: str, region: str, machines: Iterable[Machines]) -> HourlyCost:
    """US dollars per hour of all machines. Network, control plane and storage are not in it: a line says so."""
    parts, total = [], 0.0
    known = True
    for each in machines:
        price = find_price(cloud, each.machine_type, region)
        usd = {"on_demand": price.on_demand_usd_per_hour, "spot": price.spot_usd_per_hour}.get(each.way) if price else None
        what = f"{each.group}: {each.count} x {each.machine_type} {each.way.replace('_', ' ')}"
        if usd is None or price is None:
            known = False
            parts.append(f"{what} in {region}: no price is known")
        else:
            total += each.count * usd
            parts.append(f"{what} at {usd:.2f} ({price.provenance.source}, {price.provenance.as_of})")
    parts.append("not counted: control plane, network traffic, storage")
    return HourlyCost(usd_per_hour=round(total, 2) if known else None, parts=tuple(parts))
