"""Google's published APIs, one discovery document per API and version.

They ship in google-api-python-client. Of what is missing there, ``documents/`` beside this file holds a few methods in the same
form, written after the API's protocol buffers.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tools.judge.shapes import UnknownOperationError

_OURS = Path(__file__).with_name("documents")
_VERSION = re.compile(r"/(v\d+\w*)(?:/|$)")
_HOLE = re.compile(r"\{(\+?)(\w+)\}")

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """One method of an API."""

    api: str
    """``compute``."""
    described: Schema

    @property
    def id(self) -> str:
        """``networks.insert``."""
        return str(self.described["id"]).removeprefix(f"{self.api}.")

    @property
    def name(self) -> str:
        """``insert``."""
        return self.id.rpartition(".")[2]

    @property
    def body(self) -> Schema | None:
        """Schema of the request's body."""
        found: Schema | None = self.described.get("request")
        return found

    @property
    def answer(self) -> str:
        """Name of the answer's schema; empty where nothing comes back."""
        return str(self.described.get("response", {}).get("$ref", ""))

    @property
    def parameters(self) -> Mapping[str, Schema]:
        """In the path and in the query, by name."""
        found: Mapping[str, Schema] = self.described.get("parameters", {})
        return found


@dataclass(frozen=True)
class Document:
    """One API in one version."""

    content: Schema

    @property
    def api(self) -> str:
        """``compute``."""
        return str(self.content["name"])

    @property
    def base(self) -> str:
        """What stands before every method's path: ``/compute/v1/``."""
        return f"/{self.content['servicePath']}"

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """By name."""
        found: Mapping[str, Schema] = self.content["schemas"]
        return found

    @property
    def parameters(self) -> Mapping[str, Schema]:
        """Of the query of every method."""
        found: Mapping[str, Schema] = self.content["parameters"]
        return found

    @cached_property
    def _routes(self) -> list[tuple[str, re.Pattern[str], re.Pattern[str], Method]]:
        found = []
        for described in _methods(self.content):
            flat = _pattern(self.base + described.get("flatPath", described["path"]))
            named = _pattern(self.base + described["path"])
            found.append((described["httpMethod"], flat, named, Method(self.api, described)))
        return found

    def find(self, verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
        """The method of a request, and the parameters that stand in its path."""
        for wanted, flat, named, method in self._routes:
            if wanted == verb and flat.fullmatch(path) and (found := named.fullmatch(path)):
                return method, found.groupdict()
        return None


def document(api: str, path: str) -> Document:
    """The document for a request to an API; raises ``UnknownOperationError``."""
    version = _VERSION.search(path)
    if version is None:
        raise UnknownOperationError(f"{path} names no version of an API")
    return load(api, version[1])


@cache
def load(api: str, version: str) -> Document:
    """A document by name; raises ``UnknownOperationError``."""
    name = f"{api}.{version}.json"
    for folder in (_OURS, _published()):
        if (folder / name).is_file():
            return Document(json.loads((folder / name).read_text("utf-8")))
    raise UnknownOperationError(f"Google publishes no API {api} {version}")


@cache
def _published() -> Path:
    package = distribution("google-api-python-client")
    return Path(str(package.locate_file("googleapiclient/discovery_cache/documents")))


def _methods(resource: Schema) -> Iterator[Schema]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _pattern(template: str) -> re.Pattern[str]:
    pattern, end = "", 0
    for hole in _HOLE.finditer(template):
        pattern += re.escape(template[end : hole.start()]) + f"(?P<{hole[2]}>{'.+' if hole[1] else '[^/:]+'})"
        end = hole.end()
    return re.compile(pattern + re.escape(template[end:]))
