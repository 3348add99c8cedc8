"""Stacks as the pack sees them, without an engine."""

from collections.abc import Mapping
from typing import Any

from gpufabric.policy import Node, Resource, Stack
from gpufabric.policy.decode import decode_json
from gpufabric.policy.model import STACK
from tests.kubernetes.mocked import Recording


def made(
    kind: str,
    name: str = "it",
    /,
    *,
    links: Mapping[str, tuple[str, ...]] | None = None,
    protect: bool = False,
    provider: Mapping[str, Any] | None = None,
    parent: str = "",
    **props: Any,
) -> Resource:
    """A resource; its URN is its name."""
    return Resource(
        urn=name,
        kind=kind,
        name=name,
        props=Node(props),
        provider=Node(dict(provider or {})),
        protect=protect,
        parent=parent,
        links=links or {},
    )


def stack_of(recording: Recording) -> Stack:
    """What a program without an engine registered, as the engine would show it to the pack."""
    providers = {each.label: Node(decode_json(each.inputs)) for each in recording.resources if "pulumi:providers:" in each.type}
    resources = [
        Resource(
            urn=each.label,
            kind=each.type,
            name=each.name,
            props=Node(decode_json(each.inputs)),
            provider=providers.get(each.provider, Node(None)),
            protect=bool(each.options.get("protect")),
            parent=each.parent,
            links={key: tuple(labels) for key, labels in each.links.items()},
        )
        for each in recording.resources
        if not each.read
    ]
    return Stack([made(STACK, "stack"), *resources])
