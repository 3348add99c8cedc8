"""What AWS's requests make and refer to, by the rules in references.toml."""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools.judge.references import Thing
from tools.judge.request import Request
from tools.judge.shapes import Call
from tools.judge.walker import leaves

_RULES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("references.toml").read_text("utf-8"))
_IDS: dict[str, dict[str, Any]] = _RULES["ids"]
_NAMES: dict[str, dict[str, Any]] = _RULES["names"]
_KIND_OF = {rule["prefix"].rstrip("-"): kind for kind, rule in _IDS.items()}
_ID = re.compile(rf"({'|'.join(_KIND_OF)})-[0-9a-f]{{8}}(?:[0-9a-f]{{9}})?")
_ARN = re.compile(r"arn:[\w-]+:[\w-]+:[\w-]*:(\w*):[\w-]+/(?:.*/)?([^/]+)")
# In the place of an account: policies that AWS made.
_AWS = "aws"


class AwsBook:
    """AWS's rules."""

    def makes(self, call: Call, request: Request) -> set[Thing]:
        """By id from the answer, by name from the request."""
        made = self.things(request.gives)
        for kind, rule in _NAMES.items():
            member = rule["made_by"].get(str(call))
            if member and isinstance(call.members.get(member), str):
                made.add(Thing(kind, call.members[member]))
        return made

    def refers(self, call: Call) -> Iterator[tuple[str, Thing]]:
        """Every id and name in the request that its own operation does not make."""
        own = self.makes(call, Request(call.service, "", ""))
        for where, member, text in leaves(dict(call.members), call.shape, str(call)):
            for thing in _things(call.service, where, member, text):
                if thing not in own:
                    yield where, thing

    def things(self, names: tuple[str, ...]) -> set[Thing]:
        """Ids by their beginnings; what begins otherwise is a name of any kind of thing that goes by name."""
        found = set()
        for name in names:
            if whole := _ID.fullmatch(name):
                found.add(Thing(_KIND_OF[whole[1]], name))
            else:
                found |= {Thing(kind, name) for kind in _NAMES}
        return found


def _things(service: str, where: str, member: str, text: str) -> Iterator[Thing]:
    for kind, rule in _IDS.items():
        if any(_is_at(service, where, member, each) for each in rule["members"]):
            yield Thing(kind, text)
            return
    for kind, rule in _NAMES.items():
        if any(_is_at(service, where, member, each) for each in rule.get("members", ())):
            yield Thing(kind, text)
        elif member in rule.get("arns", ()):
            found = _ARN.fullmatch(text)
            if found is None or found[1] != _AWS:
                yield Thing(kind, found[2] if found else text)
            elif kind == "policy" and found[2] not in _policies_of_aws():
                yield Thing("policy of AWS", found[2])
    if whole := _ID.fullmatch(text):
        yield Thing(_KIND_OF[whole[1]], text)


def _is_at(service: str, where: str, member: str, rule: str) -> bool:
    """A rule is a member's name, or a path that ends there; a service may stand before it."""
    *of, path = rule.split(" ")
    return of in ([], [service]) and (where.endswith(f".{path}") if "." in path else member == path)


@cache
def _policies_of_aws() -> frozenset[str]:
    """The names of the policies that AWS offers, from moto's copy of AWS's list."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    return frozenset(json.loads(aws_managed_policies_data))
