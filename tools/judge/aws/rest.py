"""AWS's REST protocols: which operation a method and a path mean, and the members in path, query, headers and body."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree as ET

from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape

from tools.judge.aws import wire
from tools.judge.request import Request

# Names the operation once more, for logs; written by AWS's SDKs and part of no model.
_FOR_LOGS = "x-id"


def find(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, str]] | None:
    """The operation and the labels of its path. The most specific one wins: fixed query parts, fixed letters, demands."""
    fitting = []
    for name in service.operation_names:
        operation = service.operation_model(name)
        pattern, fixed_query, weight = _route(operation.http["requestUri"])
        found = pattern.fullmatch(request.path) if operation.http["method"] == request.method else None
        if found and fixed_query.items() <= dict(request.query).items() and _complete(operation, request):
            labels = {label: unquote(text) for label, text in found.groupdict().items()}
            fitting.append((len(fixed_query), weight, _must(operation), name, operation, labels))
    if not fitting:
        return None
    *_, operation, labels = max(fitting, key=lambda each: each[:4])
    return operation, labels


def _must(operation: OperationModel) -> int:
    """Of two operations that fit, the one that demands more."""
    return len(operation.input_shape.metadata.get("required", ())) if operation.input_shape else 0


def _complete(operation: OperationModel, request: Request) -> bool:
    """Is everything there that must stand in query or headers? Some operations share a path and differ in nothing else."""
    shape = operation.input_shape
    if shape is None:
        return True
    for name in shape.metadata.get("required", ()):
        member = shape.members[name].serialization
        held = {"querystring": request.query, "header": request.headers}.get(member.get("location", ""))
        if held is not None and not {member["name"], member["name"].lower()} & held.keys():
            return False
    return True


@cache
def _route(uri: str) -> tuple[re.Pattern[str], dict[str, str], int]:
    """A template such as ``/{Bucket}/{Key+}?tagging`` as a pattern, its fixed query, how many letters are fixed."""
    path, _, query = uri.partition("?")
    pieces = re.split(r"\{(\w+)(\+?)\}", path)
    pattern, fixed = "", 0
    for number in range(0, len(pieces), 3):
        pattern += re.escape(pieces[number])
        fixed += len(pieces[number])
        if number + 1 < len(pieces):
            pattern += f"(?P<{pieces[number + 1]}>{'.+' if pieces[number + 2] else '[^/]+'})"
    return re.compile(f"{pattern}/?"), dict(parse_qsl(query, keep_blank_values=True)), fixed


def members(request: Request, operation: OperationModel, labels: Mapping[str, str]) -> dict[str, Any]:
    """What the request carries, by the members' names."""
    shape = operation.input_shape
    if shape is None:
        return {**request.query, **(request.json or {})}
    _, fixed_query, _ = _route(operation.http["requestUri"])
    query = {name: text for name, text in request.query.items() if name not in fixed_query and name != _FOR_LOGS}
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        location, wire_name = member.serialization.get("location"), str(member.serialization.get("name", name))
        if location == "uri" and wire_name in labels:
            found[name] = wire.scalar(labels[wire_name], member)
        elif location == "querystring" and wire_name in query:
            found[name] = _in_query(query.pop(wire_name), member)
        elif location == "header" and wire_name.lower() in request.headers:
            found[name] = _header(request.headers[wire_name.lower()], member)
        elif location == "headers":
            prefix = wire_name.lower()
            found[name] = {k[len(prefix) :]: v for k, v in request.headers.items() if k.startswith(prefix)}
    return {**found, **query, **_body(request, shape)}


def _in_query(value: str | list[str], member: Shape) -> Any:
    if isinstance(member, ListShape):
        return [wire.scalar(each, member.member) for each in ([value] if isinstance(value, str) else value)]
    return wire.scalar(value, member) if isinstance(value, str) else value


def _header(text: str, member: Shape) -> Any:
    if isinstance(member, ListShape):
        return [wire.scalar(each.strip(), member.member) for each in text.split(",")]
    return wire.scalar(text, member)


def _body(request: Request, shape: StructureShape) -> dict[str, Any]:
    payload = shape.serialization.get("payload")
    if request.text is not None:
        return {payload or "(body)": request.text}
    if request.xml is not None:
        element = ET.fromstring(request.xml)  # noqa: S314 - a file of this repository
        if payload:
            return {payload: wire.from_xml(element, shape.members[payload])}
        read = wire.from_xml(element, shape)
        return read if isinstance(read, dict) else {}
    if request.json is not None:
        if payload:
            return {payload: wire.from_json(request.json, shape.members[payload])}
        read = wire.from_json(request.json, shape)
        return read if isinstance(read, dict) else {"(body)": read}
    return {}
