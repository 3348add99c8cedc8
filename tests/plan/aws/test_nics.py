"""The interfaces of every machine: as AWS lists them, never an index that a card does not have."""

import pytest

from gpufabric.hardware import AwsMachine, aws_machines
from gpufabric.plan.aws.model import EFA_ONLY, INTERFACE, NetworkInterface
from gpufabric.plan.aws.nics import node_interfaces

every_machine = pytest.mark.parametrize("machine", aws_machines().values(), ids=aws_machines())
# From AWS's table of interfaces per accelerated type: number of all, of EFA's, and the cards with EFA on device 0.
LAYOUTS = {
    "p4d.24xlarge": (5, 4, [1, 2, 3]),
    "p4de.24xlarge": (5, 4, [1, 2, 3]),
    "p5.4xlarge": (2, 1, []),
    "p5.48xlarge": (33, 32, [*range(1, 32)]),
    "p5e.48xlarge": (33, 32, [*range(1, 32)]),
    "p5en.48xlarge": (17, 16, [*range(1, 16)]),
    "p6-b200.48xlarge": (9, 8, [*range(1, 8)]),
    "p6-b300.48xlarge": (17, 16, [*range(1, 17)]),
    "g6e.24xlarge": (3, 2, [1]),
    "g6e.48xlarge": (5, 4, [1, 2, 3]),
    "p6e-gb200.36xlarge": (5, 4, [1, 5, 9, 13]),
    "trn2.48xlarge": (17, 16, [*range(1, 16)]),
}


def test_every_machine_of_the_table_has_its_layout_here() -> None:
    assert LAYOUTS.keys() == aws_machines().keys()


@every_machine
def test_the_layout_is_awss(machine: AwsMachine) -> None:
    found = node_interfaces(machine, fabric=True)
    of_efa = [each for each in found if each.kind == EFA_ONLY]
    cards = [each.card for each in of_efa if each.card]
    assert (len(found), len(of_efa), cards) == LAYOUTS[machine.name]
    assert len(of_efa) == machine.fabric_devices, "eksctl issue 8685: cards were counted, not EFA interfaces"


@every_machine
def test_the_primary_interface_is_never_efa_only(machine: AwsMachine) -> None:
    first, *others = node_interfaces(machine, fabric=True)
    assert first == NetworkInterface(0, 0, INTERFACE)
    assert all(each.kind == EFA_ONLY for each in others)


@every_machine
def test_every_index_exists_on_its_card(machine: AwsMachine) -> None:
    """eksctl issue 7520: a device index that rose with the card was refused on a p5, whose cards hold two."""
    found = node_interfaces(machine, fabric=True)
    assert len({(each.card, each.device) for each in found}) == len(found)
    assert {each.device for each in found if each.card} <= {0}
    assert all(each.card < machine.network_cards for each in found)
    on_first = [each for each in found if not each.card]
    assert not machine.interfaces_per_card or len(on_first) <= machine.interfaces_per_card


@every_machine
def test_ethernet_takes_one_interface(machine: AwsMachine) -> None:
    assert node_interfaces(machine, fabric=False) == (NetworkInterface(0, 0, INTERFACE),)
