"""Google's published API in the walker's words."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tools.judge.google.documents import Document, Method, Schema, document
from tools.judge.request import Request
from tools.judge.shapes import Call, Kind, Shape, UnknownOperationError

# The member of a call that holds its body; all others are parameters.
BODY = "body"
# What Google's provider sends although its API does not publish it: left out when a request is read.
_UNPUBLISHED = {
    ("compute", "NetworkRoutingConfig", "deleteBgpAlwaysCompareMed"),
    ("compute", "RouterNat", "initialNatIps"),
}
# What the documents call required and Google's own provider leaves out where it is empty.
_MAY_BE_EMPTY = {("storage", "Policy", "bindings")}
# Any API's: how the answer should look. No members of an operation.
TRANSPORT = ("alt", "prettyPrint", "key", "quotaUser")
_VERSION = re.compile(r"^/(?:\w+/)?v\d\w*/")
_FORMATS: Mapping[str, Kind] = {
    "int64": "integer",
    "uint64": "integer",
    "byte": "blob",
    "google-datetime": "timestamp",
    "date-time": "timestamp",
}
_TYPES: Mapping[str, Kind] = {
    "string": "string",
    "integer": "integer",
    "number": "float",
    "boolean": "boolean",
    "array": "list",
    "object": "structure",
    "any": "document",
}
_PATTERNS = {"google-duration": r"-?\d+(\.\d{1,9})?s", "date": r"\d{4}-\d\d-\d\d"}
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


class GoogleShape:
    """A schema of a discovery document. ``method``: whose request it is in, since what must be there depends on that."""

    def __init__(self, schema: Schema, within: Document, method: str = "", name: str = "") -> None:
        self._schema = schema = _resolved(schema, within)
        self._within, self._method = within, method
        self.name: str = schema.get("id", name)
        self.kind: Kind = _kind(schema)
        self.union = False
        self.required = frozenset(
            name
            for name, each in schema.get("properties", {}).items()
            if _is_required(each, method) and (within.api, self.name, name) not in _MAY_BE_EMPTY
        )
        self.enum = frozenset(schema.get("enum", ())) if self.kind == "string" else frozenset()
        form = schema.get("format", "")
        self.pattern: str = schema.get("pattern") or (_PATTERNS.get(form, "") if self.kind == "string" else "")
        least, most = _RANGES.get(form, (None, None)) if self.kind == "integer" else (None, None)
        self.minimum: float | None = _number(schema.get("minimum"), least)
        self.maximum: float | None = _number(schema.get("maximum"), most)

    def members(self) -> Mapping[str, Shape]:
        """By name."""
        inner = self._schema.get("properties", {})
        return {name: GoogleShape(each, self._within, self._method, name) for name, each in inner.items()}

    def element(self) -> Shape:
        """Of a list or a map, or one of a parameter that may be there several times."""
        if self._schema.get("repeated"):
            inner: Schema = {key: each for key, each in self._schema.items() if key != "repeated"}
        else:
            inner = self._schema["items"] if self.kind == "list" else self._schema["additionalProperties"]
        return GoogleShape(inner, self._within, self._method, self.name)

    def key(self) -> Shape:
        """Of a map: any text."""
        return GoogleShape({"type": "string"}, self._within)


@dataclass(frozen=True)
class GoogleCall(Call):
    """``path``: what it is about, less the API's base: ``projects/p/global/networks``."""

    path: str
    method: Method


class GoogleModel:
    """All APIs that Google publishes, each loaded when first asked for."""

    def read(self, request: Request) -> GoogleCall:
        """What the request means; raises ``UnknownOperationError``."""
        within = document(request.service, request.path)
        found = within.find(request.method, request.path)
        if found is None:
            raise UnknownOperationError(f"{request.service} has no method {request.method} {request.path}")
        return _call(within, *found, request)


def answer_of(request: Request, call: GoogleCall, body: Any) -> GoogleCall:
    """What came back for a request, as a call that the walker can hold against the published form of answers."""
    within = document(request.service, request.path)
    schema = {"$ref": call.method.answer}
    shape = GoogleShape(schema, within, name=call.method.answer)
    return GoogleCall(call.service, f"{call.operation} answer", _value(body, schema, within), shape, call.path, call.method)


def _call(within: Document, method: Method, parameters: Mapping[str, str], request: Request) -> GoogleCall:
    known = {**within.parameters, **method.parameters}
    members: dict[str, Any] = dict(parameters)
    for name, value in request.query.items():
        if name not in TRANSPORT:
            members[name] = _parameter(value, known.get(name))
    properties = {name: each for name, each in known.items() if name not in TRANSPORT}
    if request.json is not None and method.body is not None:
        members[BODY] = _value(request.json, method.body, within)
    elif request.json is not None:
        members[BODY] = request.json
    if method.body is not None:
        properties = {**properties, BODY: method.body}
    schema = {"type": "object", "properties": properties}
    shape = GoogleShape(schema, within, str(method.described["id"]), method.id)
    return GoogleCall(request.service, method.id, members, shape, _VERSION.sub("", request.path), method)


def _resolved(schema: Schema, within: Document) -> Schema:
    return within.schemas[schema["$ref"]] if "$ref" in schema else schema


def _kind(schema: Schema) -> Kind:
    if schema.get("repeated"):
        return "list"
    kind = _TYPES[schema.get("type", "object")]
    if kind == "structure" and "additionalProperties" in schema and not schema.get("properties"):
        return "map"
    if kind == "structure" and not schema.get("properties") and schema.get("format", "").startswith("google.protobuf"):
        return "document"
    return _FORMATS.get(schema.get("format", ""), kind) if kind == "string" else kind


def _is_required(schema: Schema, method: str) -> bool:
    return schema.get("required") is True or method in schema.get("annotations", {}).get("required", ())


def _number(text: str | None, otherwise: float | None) -> float | None:
    return otherwise if text is None else float(text)


def _parameter(value: str | list[str], schema: Schema | None) -> Any:
    if schema is not None and schema.get("repeated"):
        return [value] if isinstance(value, str) else value
    if isinstance(value, list) or schema is None:
        return value
    if schema.get("type") == "boolean" and value in ("true", "false"):
        return value == "true"
    return _whole(value) if schema.get("type") == "integer" else value


def _value(value: Any, schema: Schema, within: Document) -> Any:
    """A value of a JSON body as the Python value of its kind, or itself. What is null is not there."""
    schema = _resolved(schema, within)
    kind = _kind(schema)
    if kind == "structure" and isinstance(value, dict):
        known = schema.get("properties", {})
        left_out = {k for k, v in value.items() if v is None or (within.api, schema.get("id"), k) in _UNPUBLISHED}
        return {k: _value(v, known[k], within) if k in known else v for k, v in value.items() if k not in left_out}
    if kind == "map" and isinstance(value, dict):
        return {key: _value(each, schema["additionalProperties"], within) for key, each in value.items()}
    if kind == "list" and isinstance(value, list):
        return [_value(each, schema["items"], within) for each in value]
    if isinstance(value, str):
        return _text(value, kind)
    return value


def _text(value: str, kind: Kind) -> Any:
    """64 bits do not fit into JavaScript's numbers: Google writes them as texts."""
    if kind == "integer":
        return _whole(value)
    try:
        if kind == "timestamp":
            return datetime.fromisoformat(value)
        if kind == "blob":
            return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        return value
    return value


def _whole(value: str) -> Any:
    return int(value) if re.fullmatch(r"-?\d+", value) else value
