"""One request as it stood on the wire, less what differs from run to run; and the file that keeps those of a sample."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """At most one of ``form``, ``json``, ``xml`` and ``text`` holds something: the body."""

    service: str
    """Whose endpoint it went to, in the vendor's own word (AWS: the name in the signature)."""
    method: str
    path: str
    query: Mapping[str, str | list[str]] = field(default_factory=dict)
    """A list where a name is there more than once."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that carry members of the request or say which operation it is; lower case."""
    form: Mapping[str, str] | None = None
    json: Any = None
    xml: str | None = None
    text: str | None = None
    gives: tuple[str, ...] = ()
    """Ids in its response that no earlier response held."""

    def as_json(self) -> dict[str, Any]:
        """What is written into a record: no empty fields."""
        whole = {**vars(self), "gives": list(self.gives)}
        return {key: value for key, value in whole.items() if value not in (None, {}, [])}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Request":
        """The inverse of ``as_json``."""
        return cls(**{**found, "gives": tuple(found.get("gives", ()))})


@dataclass(frozen=True)
class Record:
    """The requests that declare one sample, and what they were recorded with."""

    plan: str
    """Hash of the part of the sample's golden plan that the provider was given."""
    made_with: Mapping[str, str]
    """Versions of the provider and of the emulator."""
    requests: tuple[Request, ...]
    existing: tuple[str, ...] = ()
    """Ids that the sample names as existing before it."""
    gaps: tuple[str, ...] = ()
    """Operations that the emulator lacks, answered by a stand-in, each with the reason."""

    def write(self, file: Path) -> None:
        """One line per field of a request, so that a diff shows what changed."""
        content = {
            "plan": self.plan,
            "made_with": dict(self.made_with),
            "existing": list(self.existing),
            "gaps": list(self.gaps),
            "requests": [request.as_json() for request in self.requests],
        }
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> "Record":
        """The inverse of ``write``."""
        content = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            plan=content["plan"],
            made_with=content["made_with"],
            existing=tuple(content["existing"]),
            gaps=tuple(content["gaps"]),
            requests=tuple(Request.from_json(each) for each in content["requests"]),
        )
