"""Answers for what moto lacks (gaps.toml): collections that it does not have, and members that it forgets."""

import hashlib
import json
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
        """Moto's answer with the members that it forgot."""
        for row in _rows("forgets"):
            if row["service"] != call.service or not _holds(body, row["answer"]):
                continue
            written = json.loads(body)
            with self._lock:
                key = (row["why"], *(str(call.members.get(each)) for each in row["key"]))
                if call.operation == row["create"]:
                    self._kept[key] = {name: each for name, each in call.members.items() if name not in row["key"]}
                asked = self._kept.get(key, {})
            held = written[row["answer"]]
            forgotten = {name: each for name, each in asked.items() if held.get(name) is None}
            if forgotten:
                self.used.add(row["why"])
                body = json.dumps({**written, row["answer"]: {**held, **forgotten}}).encode()
        return body

    def _collection(self, row: Mapping[str, Any], call: Call) -> Answer | None:
        members = dict(call.members)
        output = service_model(call.service).operation_model(call.operation).output_shape
        if call.operation == row["create"]:
            members |= {name: _filled(template, members) for name, template in row.get("made_key", {}).items()}
            added = {name: _filled(each, members) for name, each in row["adds"].items()}
            # What AWS adds gives way to what was asked for.
            self._kept[self._key(row, members)] = {**added, **members}
        elif call.operation == row.get("list", {}).get("operation"):
            prefix = [members.get(name) for name in row["key"]]
            fits = [each for key, each in self._kept.items() if key[0] == row["why"] and _begins(key[1:], prefix)]
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

    def _key(self, row: Mapping[str, Any], members: Mapping[str, Any]) -> tuple[str, ...]:
        return (row["why"], *(str(members.get(name)) for name in row["key"]))


def _begins(key: tuple[str, ...], wanted: list[Any]) -> bool:
    return all(each is None or each == held for held, each in zip(key, wanted, strict=True))


def _rows(kind: str) -> Iterator[Mapping[str, Any]]:
    yield from _GAPS.get(kind, [])


_GAPS: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("gaps.toml").read_text("utf-8"))


def _holds(body: bytes, member: str) -> bool:
    return body.startswith(b"{") and f'"{member}"'.encode() in body


def _filled(template: Any, members: Mapping[str, Any]) -> Any:
    """``{member}`` and ``{hex17}`` in a text; anything else as it is."""
    if not isinstance(template, str):
        return template
    digest = hashlib.sha256(json.dumps(members, sort_keys=True, default=str).encode()).hexdigest()
    return template.format_map({**members, "hex17": digest[:17]})


def _answer(call: Call, members: Mapping[str, Any], shape: Any) -> Answer:
    if service_model(call.service).metadata["protocol"] == "query":
        result = _xml(members, shape, f"{call.operation}Result") if shape is not None else ""
        return Answer(200, "text/xml", f"<{call.operation}Response>{result}</{call.operation}Response>".encode())
    known = shape.members if shape is not None else {}
    body = {name: each for name, each in members.items() if name in known}
    return Answer(200, "application/json", json.dumps(body, default=_seconds).encode())


def _missing(call: Call) -> Answer:
    if service_model(call.service).metadata["protocol"] == "query":
        error = f"<Error><Code>ValidationError</Code><Message>{call.operation}: not found</Message></Error>"
        error = f"<ErrorResponse>{error}</ErrorResponse>"
        return Answer(400, "text/xml", error.encode())
    error = json.dumps({"__type": "ResourceNotFoundException", "message": f"{call.operation}: not found"})
    return Answer(404, "application/json", error.encode())


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(repr(value))


def _xml(value: Any, shape: Any, name: str) -> str:
    if shape.type_name == "structure":
        inner = "".join(_xml(value[each], member, each) for each, member in shape.members.items() if each in value)
    elif shape.type_name == "list":
        inner = "".join(_xml(each, shape.member, "member") for each in value)
    elif isinstance(value, datetime):
        inner = value.isoformat()
    else:
        inner = escape(str(value).lower() if isinstance(value, bool) else str(value))
    return f"<{name}>{inner}</{name}>"
