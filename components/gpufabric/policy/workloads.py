"""Pods that a Kubernetes resource makes, whatever its kind: what they ask for, mount and run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gpufabric.policy.model import Resource
from gpufabric.policy.tree import Node, Secret

KUBERNETES: Final = "kubernetes:*"
GPU: Final = "nvidia.com/gpu"
EFA: Final = "vpc.amazonaws.com/efa"
_COPIES: Final = ("replicas", "parallelism", "completions", "numNodes", "nproc")
_DEEPEST: Final = 12


@dataclass(frozen=True, slots=True)
class Pods:
    """One pod template. ``copies``: how many of it run at once, as far as the resource says it."""

    spec: Node
    copies: int
    namespace: str
    annotations: Node

    @property
    def containers(self) -> list[Node]:
        """Containers and init containers."""
        return [*self.spec["containers"].items(), *self.spec["initContainers"].items()]

    def asks(self, resource: str) -> int:
        """How many of an extended resource one pod asks for."""
        found = 0
        for each in self.spec["containers"].items():
            limits, requests = each.at("resources.limits"), each.at("resources.requests")
            found += limits[resource].whole() or requests[resource].whole()
        return found

    def volume(self, name: str) -> Node:
        """The volume of this name, or an absent place."""
        found = (each for each in self.spec["volumes"].items() if each["name"].text() == name)
        return next(found, Node(None, self.spec, "volumes"))


def namespace_of(resource: Resource) -> str:
    """Its namespace; ``default`` where none is given."""
    return resource.props.at("metadata.namespace").text() or "default"


def pods_of(resource: Resource) -> Iterator[Pods]:
    """All pod templates of a resource: of Kubernetes' own kinds, and of custom ones such as MPIJob or JobSet."""
    if resource.props["kind"].text() in ("ConfigMap", "Secret", "CustomResourceDefinition"):
        return
    yield from _below(resource.props, resource, 1, 0, Node(None))


def _below(place: Node, resource: Resource, copies: int, depth: int, annotations: Node) -> Iterator[Pods]:
    if depth > _DEEPEST:
        return
    value = place.value
    if isinstance(value, list):
        for each in place.items():
            yield from _below(each, resource, copies, depth + 1, annotations)
    if not isinstance(value, dict):
        return
    if isinstance(_plain(value.get("containers")), list) and depth:
        yield Pods(place, copies, namespace_of(resource), annotations)
        return
    numbers = [_plain(value.get(key)) for key in _COPIES]
    known = [int(each) for each in numbers if isinstance(each, int) and not isinstance(each, bool)]
    copies *= max([1, *known])
    metadata = _plain(value.get("metadata"))
    annotations = place.at("metadata.annotations") if isinstance(metadata, dict) else annotations
    for key in value:
        if key not in ("metadata", "status"):
            yield from _below(place[key], resource, copies, depth + 1, annotations)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value
