"""What a generated SDK of Pulumi says of its resources' properties, by the types of its Python classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_origin

from pulumi import _types


@dataclass(frozen=True)
class Field:
    """A property. ``inner``: the properties of the object in it, or of the objects in the list."""

    many: bool
    inner: Callable[[], "Fields"] | None = None


Fields = Mapping[str, Field]


def pulumi_fields(token: str) -> Fields:
    """A resource by the token of its class: ``aws:eks/cluster:Cluster``."""
    package, path, name = token.split(":")
    module = import_module(f"pulumi_{package}.{path.split('/')[0]}")
    return {key: _pulumi_field(each) for key, each in _types.resource_types(getattr(module, name)).items()}


def _pulumi_field(kind: Any) -> Field:
    many = get_origin(kind) is not None and issubclass(get_origin(kind), Sequence)
    (element,) = get_args(kind) if many else (kind,)
    if isinstance(element, type) and _types.is_output_type(element):
        return Field(many, cache(lambda: {key: _pulumi_field(each) for key, each in _types.output_type_types(element).items()}))
    return Field(many)
