"""What Google's requests make and refer to. Things go by their path: ``projects/p/global/networks/train``."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.judge.google.model import GoogleCall
from tools.judge.references import Thing
from tools.judge.request import Request
from tools.judge.shapes import Call
from tools.judge.walker import leaves

_RULES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("references.toml").read_text("utf-8"))
_GIVEN: Mapping[str, str] = _RULES["given"]
_SCOPE = re.compile(r"projects/[^/]+(?:/(?:global|regions/[^/]+|zones/[^/]+|locations/[^/]+))?/")
# A thing's path at the end of a URL, or alone; what stands in front of `projects` is a host or nothing.
_PATH = re.compile(r"(?:https?://\S+?/|//[\w.]+/)?(projects/[^/]+/(?:global|regions/[^/]+|zones/[^/]+|locations/[^/]+)/\S+)")
# A member of a policy.
_ACCOUNT = re.compile(r"serviceAccount:([^@]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com)")
_HOLE = re.compile(r"\{([\w.]*)\}")
_MAKES = (".insert", ".create")


class GoogleBook:
    """Google's rules."""

    def makes(self, call: Call, request: Request) -> set[Thing]:  # noqa: ARG002 - Google's answers give no ids
        """By the request's path and name."""
        return {thing_of(path) for path in made_by(call)}

    def refers(self, call: Call) -> Iterator[tuple[str, Thing]]:
        """What the request's own path names, every path in its body, and the names that have a rule."""
        own = {thing_of(path) for path in made_by(call)}
        for path in nested(path_of(call)):
            if not is_given(path):
                yield f"{call} path", thing_of(path)
        for where, path in named_in(call):
            for each in nested(path):
                if not is_given(each) and thing_of(each) not in own:
                    yield where, thing_of(each)
            kind = _RULES["kinds"].get(where.rpartition(".")[2].partition("[")[0])
            if kind and thing_of(path).kind != kind:
                yield where, Thing(kind, path)

    def things(self, names: tuple[str, ...]) -> set[Thing]:
        """Paths as things."""
        return {thing_of(name) for name in names}


def thing_of(path: str) -> Thing:
    """``network`` for projects/p/global/networks/train."""
    collection = path.split("/")[-2]
    kind = collection[:-3] + "y" if collection.endswith("ies") else collection.removesuffix("s")
    return Thing({"b": "bucket"}.get(kind, kind), path)


def nested(path: str) -> Iterator[str]:
    """A thing's path and those of all that it lies in."""
    scope = _SCOPE.match(path)
    start = scope.end() if scope else 0
    parts = path[start:].split("/")
    for end in range(2, len(parts) + 1, 2):
        yield path[:start] + "/".join(parts[:end])


def is_given(path: str) -> bool:
    """Is it Google's own? What has the collection of such things and another form of name is not."""
    *_, collection, name = path.split("/")
    return collection in _GIVEN and re.fullmatch(_GIVEN[collection], name) is not None


def named_path(text: str) -> str:
    """The path of a thing in a URL, a full name or the path itself; empty where there is none."""
    found = _PATH.fullmatch(text)
    return found[1] if found else ""


def path_of(call: Call) -> str:
    """What a request is about, without a verb behind it."""
    return call.path.partition(":")[0] if isinstance(call, GoogleCall) else ""


def made_by(call: Call) -> list[str]:
    """Paths of the things that a request makes, the one that it is about first."""
    rules = _RULES["makes"].get(str(call))
    if rules is not None:
        return [path for rule in rules for path in _filled(rule, call, "")]
    name = call.members.get("body", {}).get("name") if isinstance(call.members.get("body"), dict) else None
    return [f"{path_of(call)}/{name}"] if call.operation.endswith(_MAKES) and isinstance(name, str) else []


def named_in(call: Call) -> Iterator[tuple[str, str]]:
    """Every path in a request's body, given as such or by a name that has a rule, with the member that holds it."""
    members = {"body": call.members["body"]} if "body" in call.members else {}
    for where, _, text in leaves(members, call.shape, str(call)):
        if path := named_path(text):
            yield where, path
        elif account := _ACCOUNT.fullmatch(text):
            yield where, f"projects/{account[2]}/serviceAccounts/{account[1]}"
        elif text and (rule := _rule_of(where)):
            paths = [f"projects/{_scope(call)['project']}/{text}"] if "/" in text else _filled(rule, call, text)
            yield from ((where, path) for path in paths)


def _rule_of(where: str) -> str:
    plain = re.sub(r"\[[^]]*\]", "", where)
    return next((rule for end, rule in _RULES["names"].items() if plain.endswith(f".{end}")), "")


def _scope(call: Call) -> dict[str, str]:
    path = path_of(call)
    found = dict(re.findall(r"(project|region|zone|location)s/([^/]+)", path))
    place = found.get("region") or found.get("zone") or found.get("location", "")
    return {**found, "region": re.sub(r"-[a-z]$", "", place)}


def _filled(rule: str, call: Call, text: str) -> list[str]:
    """The rule with its holes filled: one path per value of a member that holds several; none where one is missing."""
    scope = _scope(call)
    paths = [rule]
    for hole in _HOLE.findall(rule):
        if hole == "":
            values = [text]
        elif "." in hole or hole not in scope:
            values = [
                str(value).rpartition("/")[2] if hole.startswith("body.") else str(value) for value in _at(call.members, hole)
            ]
        else:
            values = [scope[hole]]
        paths = [path.replace(f"{{{hole}}}", value, 1) for path in paths for value in values]
    return paths


def _at(value: Any, path: str) -> list[Any]:
    found = [value]
    for part in path.split("."):
        inner = [each[part] for each in found if isinstance(each, dict) and part in each]
        found = [each for one in inner for each in (one if isinstance(one, list) else [one])]
    return found
