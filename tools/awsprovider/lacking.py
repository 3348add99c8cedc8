"""Answers for what moto lacks (gaps.toml): collections that it does not have, members that it forgets or makes up."""

import hashlib
import json
import re
import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tools.judge.aws.model import service_model
from tools.judge.shapes import Call

_NO_TAGS = b"<Tags></Tags>"


@dataclass(frozen=True)
class Answer:
    """What goes back instead of moto's answer."""

    status: int
    kind: str
    body: bytes


@dataclass
class Lacking:
    """The stand-in's memory. ``used`` grows by every gap that was needed."""

    used: set[str] = field(default_factory=set)
    _kept: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, call: Call) -> Answer | None:
        """The answer to a call that moto would not know; None for all others."""
        for row in _rows("collection"):
            if row["service"] == call.service:
                with self._lock:
                    found = self._collection(row, call)
                if found is not None:
                    self.used.add(row["why"])
                    return found
        return None

    def complete(self, call: Call, body: bytes) -> bytes:
        """Moto's answer with the members that it forgot, and without those that it made up."""
        if not body.startswith(b"{"):
            return self._tagged(call, self._without(call, body))
        for row in _rows("forgets"):
            if row["service"] != call.service:
                continue
            written = json.loads(body)
            completed = {name: self._completed(row, call, each) for name, each in written.items() if name in row["answers"]}
            if any(each != written[name] for name, each in completed.items()):
                self.used.add(row["why"])
                body = json.dumps({**written, **completed}, default=_seconds).encode()
        return body

    def _without(self, call: Call, body: bytes) -> bytes:
        for row in _rows("makes_up"):
            if (row["service"], row["operation"]) == (call.service, call.operation):
                body, found = re.subn(row["part"].encode(), b"", body)
                self.used.update([row["why"]] if found else [])
        return body

    def _tagged(self, call: Call, body: bytes) -> bytes:
        for row in _rows("forgets_tags"):
            if [call.service, call.operation] == row["create"]:
                asked: Any = dict(call.members)
                for name in row["at"].split("."):
                    asked = asked.get(name, {})
                with self._lock:
                    self._kept[row["why"], row["of"].format_map(call.members)] = {"Tags": asked or []}
            elif [call.service, call.operation] == row["list"] and _NO_TAGS in body:
                with self._lock:
                    kept = self._kept.get((row["why"], call.members[row["by"]]), {}).get("Tags", [])
                self.used.update([row["why"]] if kept else [])
                tags = "".join(f"<Tag><Key>{escape(t['Key'])}</Key><Value>{escape(t['Value'])}</Value></Tag>" for t in kept)
                body = body.replace(_NO_TAGS, f"<Tags>{tags}</Tags>".encode())
        return body

    def _completed(self, row: Mapping[str, Any], call: Call, found: Any) -> Any:
        if isinstance(found, list):
            return [self._completed(row, call, each) for each in found]
        key = (row["why"], *(str(found.get(each)) for each in row["key"]))
        with self._lock:
            if call.operation == row["create"]:
                self._kept[key] = dict(call.members)
            asked = self._kept.get(key, {})
        found = {name: each for name, each in found.items() if name in asked or name not in row.get("invents", ())}
        completed = {**found, **{name: each for name, each in asked.items() if found.get(name) is None}}
        for path, template in row.get("adds", {}).items():
            _put(completed, path.split("."), _filled(template, {"of": key}))
        return completed

    def _collection(self, row: Mapping[str, Any], call: Call) -> Answer | None:
        members = dict(call.members)
        output = service_model(call.service).operation_model(call.operation).output_shape
        if call.operation == row["create"]:
            members = self._make(row, members)
        elif call.operation == row.get("list", {}).get("operation"):
            asked = members.get(row["list"].get("by", ""))
            prefix = [members.get(name) for name in row["key"]]
            all_of_them = [(key[1:], each) for key, each in self._kept.items() if key[0] == row["why"]]
            fits = [each for key, each in all_of_them if (key[0] in asked if asked else _begins(key, prefix))]
            return _answer(call, {**members, row["list"]["answer"]: fits}, output)
        elif call.operation not in (row.get("read"), row.get("update"), row["delete"]):
            return None
        key = self._key(row, members)
        if key not in self._kept:
            return _missing(call)
        if call.operation == row.get("update"):
            self._kept[key] |= members
        held = self._kept.pop(key) if call.operation == row["delete"] else self._kept[key]
        return _answer(call, {**members, row.get("answer", ""): held}, output)

    def _make(self, row: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """One of a collection, and those of other collections that are asked for within it."""
        members = {**asked, **{name: _filled(template, asked) for name, template in row.get("made_key", {}).items()}}
        # What AWS adds gives way to what was asked for.
        held = {**{name: _filled(each, members) for name, each in row["adds"].items()}, **members}
        if "TagSpecifications" in held:  # EC2 asks for tags in this way and shows them in the other
            held["Tags"] = [tag for each in held["TagSpecifications"] for tag in each["Tags"]]
        for name, (operation, shown) in row.get("makes", {}).items():
            other = next(each for each in _rows("collection") if each["create"] == operation)
            above = {each: held[each] for each in other["key"] if each in held}
            held[name] = [self._make(other, {**above, **each})[shown] for each in held.get(name, [])]
        self._kept[self._key(row, held)] = held
        return held

    def _key(self, row: Mapping[str, Any], members: Mapping[str, Any]) -> tuple[str, ...]:
        return (row["why"], *(str(members.get(name)) for name in row["key"]))


def _begins(key: tuple[str, ...], wanted: list[Any]) -> bool:
    return all(each is None or each == held for held, each in zip(key, wanted, strict=True))


def _rows(kind: str) -> Iterator[Mapping[str, Any]]:
    yield from _GAPS.get(kind, [])


_GAPS: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("gaps.toml").read_text("utf-8"))


def _put(object_: dict[str, Any], path: list[str], value: Any) -> None:
    """Where nothing stands yet."""
    *above, last = path
    for name in above:
        object_[name] = dict(object_.get(name) or {})
        object_ = object_[name]
    if object_.get(last) is None:
        object_[last] = value


def _filled(template: Any, members: Mapping[str, Any]) -> Any:
    """``{member}`` and ``{hex17}`` in a text; anything else as it is."""
    if not isinstance(template, str):
        return template
    digest = hashlib.sha256(json.dumps(members, sort_keys=True, default=str).encode()).hexdigest()
    return template.format_map({**members, "hex17": digest[:17]})


def _answer(call: Call, members: Mapping[str, Any], shape: Any) -> Answer:
    protocol = service_model(call.service).metadata["protocol"]
    if protocol in ("query", "ec2"):
        wrapper = f"{call.operation}Result" if protocol == "query" else ""
        inner = _xml(members, shape, protocol == "ec2") if shape is not None else ""
        result = f"<{wrapper}>{inner}</{wrapper}>" if wrapper else inner
        return Answer(200, "text/xml", f"<{call.operation}Response>{result}</{call.operation}Response>".encode())
    known = shape.members if shape is not None else {}
    body = {name: each for name, each in members.items() if name in known}
    return Answer(200, "application/json", json.dumps(body, default=_seconds).encode())


def refusal(call: Call | None, status: int, code: str, text: str) -> Answer:
    """An error as the service of the call would write it."""
    protocol = service_model(call.service).metadata["protocol"] if call else "json"
    if protocol in ("json", "rest-json"):
        return Answer(status, "application/json", json.dumps({"__type": code, "message": text}).encode())
    error = f"<Error><Code>{code}</Code><Message>{escape(text)}</Message></Error>"
    around = {"query": ("<ErrorResponse>", "</ErrorResponse>"), "ec2": ("<Response><Errors>", "</Errors></Response>")}
    before, after = around.get(protocol, ("", ""))
    return Answer(status, "text/xml", f"{before}{error}{after}".encode())


def _missing(call: Call) -> Answer:
    query = service_model(call.service).metadata["protocol"] in ("query", "ec2")
    status, code = (400, "ValidationError") if query else (404, "ResourceNotFoundException")
    return refusal(call, status, code, f"{call.operation}: not found")


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(repr(value))


def _xml(value: Any, shape: Any, ec2: bool) -> str:
    """The inside of an element. EC2 writes lists and names in a way of its own."""
    if shape.type_name == "structure":
        parts = [(_name(member, name, ec2), value[name], member) for name, member in shape.members.items() if name in value]
        return "".join(f"<{name}>{_xml(each, member, ec2)}</{name}>" for name, each, member in parts)
    if shape.type_name == "list":
        name = shape.member.serialization.get("name", "member")
        return "".join(f"<{name}>{_xml(each, shape.member, ec2)}</{name}>" for each in value)
    if isinstance(value, datetime):
        return value.isoformat()
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def _name(member: Any, name: str, ec2: bool) -> str:
    return str(member.serialization.get("name", name)) if ec2 else name
