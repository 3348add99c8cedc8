"""From what was on the wire to what is kept: ids, tokens and the order in which an engine sends, made the same each time.

An id that an answer gave becomes one that follows from the request it answered, in the form it had. So the same plan yields the
same record whatever ran first, and an id still leads to its maker.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from tools.awsprovider.recorder import Exchange
from tools.awsprovider.tags import sorted_tags
from tools.judge.aws.model import AwsModel
from tools.judge.aws.references import AwsBook
from tools.judge.order import in_order
from tools.judge.request import Request

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# subnet-0123456789abcdef0, fs-01234567, and whole UUIDs.
_ID = re.compile(rf"(?<![\w-])(?:{_UUID}|[a-z]{{1,12}}-(?:[0-9a-f]{{17}}|[0-9a-f]{{8}}))(?![\w-])")
# Some names are a word and a UUID: eks-01234567-...
_IN_NAMES = re.compile(rf"(?:(?<![\w-])[a-z]{{1,12}}-)?{_UUID}")
_UNSPECIFIC = "00000000-0000-4000-8000-000000000000"
# The place in a list, of a form's field: SubnetId.2.
_NUMBERED = re.compile(r"\.[0-9]+$")
# Terraform's own unique names: a time and a counter.
_TERRAFORM = re.compile(r"terraform-\d{18}[0-9a-f]{8}")


def normalise(exchanges: Sequence[Exchange], declared: Collection[str]) -> tuple[Request, ...]:
    """The requests that change something, each after those that it needs. ``declared``: ids that existed before and stay."""
    givers = _givers(exchanges, set(declared))
    renamed: dict[str, str] = {}
    seen: Counter[str] = Counter()
    kept: list[Request] = []
    for number, exchange in enumerate(exchanges):
        plain = json.loads(_renamed(json.dumps(sorted_tags(exchange.request.as_json())), renamed, declared))
        text = json.dumps(_with_sorted_ids(plain), sort_keys=True)
        seen[text] += 1
        given = [name for name, giver in givers.items() if giver == number]
        for place, name in enumerate(given):
            renamed[name] = _derived(name, f"{text} {seen[text]} {place}")
        if exchange.changes or given:
            gives = [renamed[name] for name in given]
            kept.append(Request.from_json({**json.loads(text), "gives": sorted(gives)}))
    return tuple(in_order(kept, AwsModel(), AwsBook(), lambda text: [*_ID.findall(text), *_IN_NAMES.findall(text)]))


def masked(requests: Sequence[Request]) -> list[str]:
    """The requests as texts without their ids, sorted."""
    texts = (json.dumps(request.as_json(), sort_keys=True) for request in requests)
    return sorted(_IN_NAMES.sub("id", _ID.sub("id", text)) for text in texts)


def _givers(exchanges: Sequence[Exchange], known: set[str]) -> dict[str, int]:
    """Id -> the exchange whose answer held it first, for those ids that a later change names."""
    givers: dict[str, int] = {}
    used: set[str] = set()
    for number, exchange in enumerate(exchanges):
        asked = json.dumps(exchange.request.as_json())
        for name in [*_ID.findall(asked), *_IN_NAMES.findall(asked)]:
            if name in givers and not exchange.asks:
                used.add(name)
            elif name not in givers:
                known.add(name)
        for name in [*_ID.findall(exchange.answer), *_IN_NAMES.findall(exchange.answer)]:
            if name not in known:
                givers.setdefault(name, number)
    return {name: giver for name, giver in givers.items() if name in used}


def _with_sorted_ids(value: Any) -> Any:
    """A request (as JSON) with its lists of ids sorted: Terraform orders sets of them by the ids that moto has drawn."""
    if isinstance(value, list):
        items = [_with_sorted_ids(each) for each in value]
        return sorted(items) if all(isinstance(each, str) and _ID.fullmatch(each) for each in items) else items
    if not isinstance(value, dict):
        return value
    inner: dict[str, Any] = {key: _with_sorted_ids(each) for key, each in value.items()}
    lists: dict[str, list[str]] = defaultdict(list)
    for key, each in inner.items():
        if isinstance(each, str) and _ID.fullmatch(each) and _NUMBERED.search(key):
            lists[_NUMBERED.sub("", key)].append(key)
    for keys in lists.values():
        inner |= dict(zip(keys, sorted(inner[key] for key in keys), strict=True))
    return inner


def _derived(name: str, source: str) -> str:
    """An id of the same form that follows from ``source``."""
    digits = iter(hashlib.sha512(source.encode()).hexdigest())
    if _IN_NAMES.fullmatch(name):
        return name[:-36] + re.sub(r"[0-9a-f]", lambda _: next(digits), name[-36:])
    before, _, _ = name.rpartition("-")
    return f"{before}-" + "".join(next(digits) for _ in name[len(before) + 1 :])


def _renamed(text: str, renamed: dict[str, str], declared: Collection[str]) -> str:
    text = _TERRAFORM.sub(lambda found: "terraform-" + "0" * (len(found[0]) - 10), text)
    text = _ID.sub(lambda found: renamed.get(found[0], found[0]), text)
    made = set(renamed.values()) | set(declared)
    # What nobody gave was drawn by the provider: tokens that make a request safe to repeat.
    return _IN_NAMES.sub(
        lambda found: renamed.get(found[0], found[0] if found[0] in made else found[0][:-36] + _UNSPECIFIC), text
    )
