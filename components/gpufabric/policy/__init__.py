"""Policies for pull requests: rules about GPU training clusters that hold for any Pulumi program, ours or not.

The rules are pure: they read property trees and the hardware tables. ``server`` alone knows the engine; ``policies/`` at the
root of the repository is the pack that Pulumi starts.
"""

from gpufabric.policy.model import Resource, Rule, Setting, Stack, rule
from gpufabric.policy.rules import RULES
from gpufabric.policy.tree import Node, NotCheckedError

PACK = "gpufabric"
"""The pack's name."""

__all__ = ["PACK", "RULES", "Node", "NotCheckedError", "Resource", "Rule", "Setting", "Stack", "rule"]
