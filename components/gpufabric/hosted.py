"""The components that can be hosted for other languages here: those of every cloud whose SDK is installed."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROOMS: Mapping[str, str] = {"kubernetes": "pulumi_kubernetes", "aws": "pulumi_aws", "gcp": "pulumi_gcp"}
"""The rooms that hold components, each with the SDK it needs."""


def installed_components() -> list[Any]:
    """Component classes, in the order of their names. An SDK that is missing takes its room's components with it."""
    rooms = [import_module(f"gpufabric.{room}") for room, sdk in ROOMS.items() if find_spec(sdk)]
    found = [getattr(room, name) for room in rooms for name in room.__all__]
    return sorted(found, key=lambda component: str(component.__name__))
