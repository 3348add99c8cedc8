"""The resources of a stack as its state has them: what was there before."""

from collections.abc import Mapping
from typing import Any

from gpufabric.policy.decode import decode_json
from gpufabric.policy.model import Resource, Stack
from gpufabric.policy.tree import Node


def stack_of_state(deployment: Mapping[str, Any]) -> Stack:
    """``deployment`` as `pulumi stack export` writes it. What waits for its deletion is left out."""
    found = [each for each in deployment.get("resources") or () if not each.get("delete")]
    providers = {each["urn"]: Node(decode_json(each.get("inputs") or {})) for each in found}
    return Stack(
        Resource(
            urn=each["urn"],
            kind=each["type"],
            name=each["urn"].rpartition("::")[2],
            props=Node(decode_json(each.get("inputs") or {})),
            provider=providers.get(each.get("provider", "").rpartition("::")[0], Node(None)),
            protect=bool(each.get("protect")),
            parent=each.get("parent", ""),
            links={key: tuple(urns) for key, urns in (each.get("propertyDependencies") or {}).items() if urns},
            after=tuple(each.get("dependencies") or ()),
        )
        for each in found
    )
