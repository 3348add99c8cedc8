"""Blocks of IPv4 addresses that every cloud treats alike."""

from ipaddress import IPv4Network

PRIVATE_BLOCKS = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
"""Private address ranges (RFC 1918), and the shared one (RFC 6598), which networks in clouds take too."""
