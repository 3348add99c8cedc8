"""The hourly cost: from the dated table, or said to be unknown."""

from gpufabric.hardware.prices import machine_prices
from gpufabric.plan.cost import Machines, hourly_cost


def test_the_sum_and_its_parts() -> None:
    cost = hourly_cost(
        "aws", "us-east-2", [Machines("a", "p5.48xlarge", 4, "on_demand"), Machines("b", "p5.48xlarge", 2, "spot")]
    )
    assert cost.usd_per_hour == round(4 * 55.04 + 2 * 11.2276, 2)
    assert [part.split(" (")[0] for part in cost.parts] == [
        "a: 4 x p5.48xlarge on demand at 55.04",
        "b: 2 x p5.48xlarge spot at 11.23",
        "not counted: control plane, network traffic, storage",
    ]


def test_one_unknown_part_makes_the_sum_unknown() -> None:
    cost = hourly_cost(
        "aws", "us-east-2", [Machines("a", "p5.48xlarge", 1, "on_demand"), Machines("b", "p5e.48xlarge", 1, "on_demand")]
    )
    assert cost.usd_per_hour is None
    assert cost.parts[1] == "b: 1 x p5e.48xlarge on demand in us-east-2: no price is known"
    assert hourly_cost("aws", "mars-1", [Machines("a", "p5.48xlarge", 1, "spot")]).usd_per_hour is None
    assert hourly_cost("aws", "us-east-2", [Machines("a", "p5.48xlarge", 1, "capacity_block")]).usd_per_hour is None


def test_no_machine_has_two_prices_in_a_region() -> None:
    keys = [(row.cloud, row.machine_type, row.region) for row in machine_prices()]
    assert len(set(keys)) == len(keys) > 30
    for row in machine_prices():
        known = [price for price in (row.on_demand_usd_per_hour, row.spot_usd_per_hour) if price is not None]
        assert known
        assert all(1 < price < 200 for price in known), "a price per GPU, or per month?"
