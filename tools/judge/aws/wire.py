"""Bodies on AWS's wires, read back into members by their shapes: flat forms, JSON and XML.

Nothing is complained about here. What no shape knows stays under the name it has on the wire, and a text that is not of its
shape's type stays a text; the walker finds both.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree as ET

from botocore.model import ListShape, MapShape, Shape, StructureShape

# A form's dotted keys as a tree; a value that stands at a branch is kept under the empty name.
Tree = Mapping[str, Any]


def scalar(text: str, shape: Shape) -> Any:
    """A text as the Python value of its shape, or the text itself."""
    kind = shape.type_name
    if kind in ("integer", "long") and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind in ("float", "double") and re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return float(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "timestamp":
        return _moment(text)
    if kind == "blob":
        return _bytes(text)
    return text


def _moment(text: str) -> Any:
    """Bodies hold ISO times, headers those of mails."""
    for reads in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return reads(text)
        except ValueError:
            continue
    return text


def _bytes(text: str) -> Any:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text


def from_json(value: Any, shape: Shape | None) -> Any:
    """A JSON body: AWS's JSON protocols write what the shapes say, times as seconds."""
    if isinstance(shape, StructureShape) and isinstance(value, dict) and not shape.is_document_type:
        names = {each.serialization.get("name", name): name for name, each in shape.members.items()}
        return {names.get(k, k): from_json(v, shape.members.get(names.get(k, k))) for k, v in value.items()}
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: from_json(each, shape.value) for key, each in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [from_json(each, shape.member) for each in value]
    if shape is not None and shape.type_name == "timestamp" and isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC)
    if shape is not None and shape.type_name in ("timestamp", "blob") and isinstance(value, str):
        return scalar(value, shape)
    return value


def from_form(form: Mapping[str, str], shape: StructureShape | None, *, ec2: bool) -> dict[str, Any]:
    """A form of the protocols ``query`` and ``ec2``, less the two keys that name the operation."""
    tree: dict[str, Any] = {}
    for key, value in form.items():
        if key in ("Action", "Version"):
            continue
        branch = tree
        *above, last = key.split(".")
        for name in above:
            below = branch.setdefault(name, {})
            if not isinstance(below, dict):
                below = branch[name] = {"": below}
            branch = below
        if isinstance(branch.get(last), dict):
            branch[last][""] = value
        else:
            branch[last] = value
    if shape is None:
        return tree
    read = _ec2_names if ec2 else _query_names
    return _form_structure(tree, shape, read)


def _form_structure(tree: Tree, shape: StructureShape, names: "_Names") -> dict[str, Any]:
    known = {names(member, name): name for name, member in shape.members.items()}
    return {
        known.get(wire, wire): _form_value(each, shape.members[known[wire]], names) if wire in known else each
        for wire, each in tree.items()
    }


def _form_value(value: Any, shape: Shape, names: "_Names") -> Any:
    if isinstance(value, str):
        # An empty list or structure is written as its bare name.
        if value == "" and shape.type_name in ("list", "structure", "map"):
            return [] if shape.type_name == "list" else {}
        return scalar(value, shape)
    if isinstance(shape, ListShape):
        inner = value
        if names is _query_names and not shape.serialization.get("flattened"):
            wrapper = shape.member.serialization.get("name", "member")
            inner = value[wrapper] if value.keys() == {wrapper} else value
        entries = _numbered(inner)
        return value if entries is None else [_form_value(each, shape.member, names) for each in entries]
    if isinstance(shape, MapShape):
        entries = _numbered(value if shape.serialization.get("flattened") else value.get("entry"))
        key, content = shape.key.serialization.get("name", "key"), shape.value.serialization.get("name", "value")
        if entries is None or not all(isinstance(each, dict) and each.keys() == {key, content} for each in entries):
            return value
        return {each[key]: _form_value(each[content], shape.value, names) for each in entries}
    if isinstance(shape, StructureShape):
        return _form_structure(value, shape, names)
    return value


def _numbered(branch: Any) -> list[Any] | None:
    """The entries 1, 2, 3 of a list in their order; None where the keys are not numbers."""
    if not isinstance(branch, dict) or not all(key.isdigit() for key in branch):
        return None
    return [branch[key] for key in sorted(branch, key=int)]


_Names = Callable[[Shape, str], str]


def _ec2_names(member: Shape, name: str) -> str:
    if "queryName" in member.serialization:
        return str(member.serialization["queryName"])
    wire = str(member.serialization.get("name", name))
    return wire[0].upper() + wire[1:]


def _query_names(member: Shape, name: str) -> str:
    """A flattened list goes by the name of its members."""
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        name = member.member.serialization.get("name", name)
    return str(member.serialization.get("name", name))


def from_xml(element: ET.Element, shape: Shape) -> Any:
    """An XML body. Names are compared without their namespaces."""
    if isinstance(shape, StructureShape):
        known = {_xml_name(member, name): name for name, member in shape.members.items()}
        found: dict[str, Any] = {known[_local(name)]: text for name, text in element.attrib.items() if _local(name) in known}
        for child in element:
            tag = _local(child.tag)
            member = shape.members.get(known.get(tag, ""))
            if member is None:
                found[tag] = child.text
            elif isinstance(member, ListShape) and member.serialization.get("flattened"):
                found.setdefault(known[tag], []).append(from_xml(child, member.member))
            else:
                found[known[tag]] = from_xml(child, member)
        return found
    if isinstance(shape, ListShape):
        wrapper = shape.member.serialization.get("name", "member")
        if any(_local(child.tag) != wrapper for child in element):
            return {_local(child.tag): child.text for child in element}
        return [from_xml(child, shape.member) for child in element]
    return scalar(element.text or "", shape)


def _xml_name(member: Shape, name: str) -> str:
    if isinstance(member, ListShape) and member.serialization.get("flattened"):
        name = member.member.serialization.get("name", name)
    return str(member.serialization.get("name", name)).rpartition(":")[2]


def _local(name: str) -> str:
    return name.rpartition("}")[2]
