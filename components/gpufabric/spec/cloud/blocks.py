"""Blocks of IPv4 addresses that every cloud treats alike."""

from ipaddress import IPv4Network

PRIVATE_BLOCKS = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""Private address ranges (RFC 1918), and the shared one (RFC 6598), which networks in clouds take too."""
SPECIAL_BLOCKS = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4")))
"""Addresses that no packet on the internet comes from: this network, loopback, link-local, multicast, reserved (RFC 6890)."""
