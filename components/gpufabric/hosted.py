"""The components that can be hosted for other languages here: those of every cloud whose SDK is installed."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pulumi.provider.experimental import analyzer, component

ROOMS: Mapping[str, str] = {"kubernetes": "pulumi_kubernetes", "aws": "pulumi_aws", "gcp": "pulumi_gcp"}
"""The rooms that hold components, each with the SDK it needs."""


def installed_components() -> list[Any]:
    """Component classes, in the order of their names. An SDK that is missing takes its room's components with it."""
    rooms = [import_module(f"gpufabric.{room}") for room, sdk in ROOMS.items() if find_spec(sdk)]
    found = [getattr(room, name) for room in rooms for name in room.__all__]
    return sorted(found, key=lambda component: str(component.__name__))


class Analyzer(analyzer.Analyzer):
    """The SDK's, which reads the docstrings of the class alone: here a key of a base class has the base class's."""

    def get_docstring(self, typ: type, name: str) -> str | None:
        """What is said of a key of a class of args."""
        if said := super().get_docstring(typ, name):
            return said
        return next(filter(None, (self.get_docstring(base, name) for base in _bases(typ))), None)


def _bases(typ: type) -> Iterator[type]:
    """The classes of args in the head of a class. At runtime a TypedDict's only base is ``dict``."""
    if typ.__module__.partition(".")[0] == __package__:
        (head,) = ast.parse(inspect.getsource(typ)).body
        names = {each.id for each in getattr(head, "bases", ()) if isinstance(each, ast.Name)} - {"TypedDict"}
        yield from (getattr(sys.modules[typ.__module__], each) for each in names)


component.Analyzer = Analyzer  # type: ignore[attr-defined]  # its provider makes one by this name, and takes none from outside
