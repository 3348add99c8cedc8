"""The interfaces of a node: which card, which device, which kind. Decided by values of the machine's row alone."""

from gpufabric.hardware import AwsMachine
from gpufabric.plan.aws.model import EFA_ONLY, INTERFACE, NetworkInterface


def node_interfaces(machine: AwsMachine, *, fabric: bool) -> tuple[NetworkInterface, ...]:
    """All interfaces with the fabric's, or the primary one alone.

    The primary interface has the node's address and may not be efa-only. Beside it, and on every other card, EFA needs no
    address: that saves the subnet 31 addresses on a p5.
    """
    primary = NetworkInterface(0, 0, INTERFACE)
    if not fabric:
        return (primary,)
    beside = (NetworkInterface(0, 1, EFA_ONLY),) if machine.efa_on_card_0 else ()
    return (primary, *beside, *(NetworkInterface(card, 0, EFA_ONLY) for card in machine.cards_with_efa))
