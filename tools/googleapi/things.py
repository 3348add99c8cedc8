"""What Google adds to a thing, by defaults.toml: its links and numbers, and defaults for what was not asked for."""

import base64
import hashlib
import ipaddress
import json
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from tools.googleapi.forms import NOW
from tools.googleapi.store import Body

_RULES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("defaults.toml").read_text("utf-8"))
_HOLE = re.compile(r"\{(\w+)\}")


def base_of(api: str, path: str) -> str:
    """Where an API's things have their links: ``https://www.googleapis.com/compute/v1/``."""
    host = "www" if api in ("compute", "storage") else api
    version = re.match(r"/(?:\w+/)?v\d\w*/", path)
    return f"https://{host}.googleapis.com{version[0] if version else '/v1/'}"


def completed(api: str, path: str, body: Body, *, number: int) -> Body:
    """A thing as a ``get`` shows it. What Google alone decides replaces what the body has."""
    collection, name = path.split("/")[-2:]
    rule = _RULES.get(f"{api} {collection}", {})
    words = _words(api, path, name, number)
    whole = deepcopy(body)
    for where, value in rule.get("defaults", {}).items():
        _set(whole, where.split("."), _filled(value, words), over=False)
    for where, value in rule.get("adds", {}).items():
        _set(whole, where.split("."), _filled(value, words), over=True)
    for where in rule.get("lists", ()):
        whole.setdefault(where, [])
    if api == "compute":
        whole = {**whole, "id": words["number"], "selfLink": words["link"], "creationTimestamp": NOW.isoformat()}
        if "ipCidrRange" in whole:
            whole["gatewayAddress"] = str(ipaddress.ip_network(whole["ipCidrRange"])[1])
    for where in rule.get("upper", ()):
        whole[where] = whole[where].upper()
    for where in rule.get("fingerprints", ()):
        whole[where] = _fingerprint(whole, where)
    return whole


def merged(old: Any, new: Any) -> Any:
    """A JSON merge patch (RFC 7396), as Google's PATCH."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    kept = {key: value for key, value in old.items() if new.get(key, ...) is not None}
    return kept | {key: merged(old.get(key), value) for key, value in new.items() if value is not None}


def _words(api: str, path: str, name: str, number: int) -> dict[str, str]:
    found = dict(re.findall(r"(project|region|zone|location|cluster)s/([^/]+)", path))
    base = base_of(api, "/compute/v1/" if api == "compute" else "/v1/")
    return {
        **found,
        "path": path,
        "name": name,
        "number": str(10**18 + number),
        "small": str(number % 250 + 2),
        "link": f"{base}{path}",
        "base": base,
        "now": NOW.isoformat(),
        "parent": path.rpartition("/")[0].rpartition("/")[0],
    }


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, words) for each in value]
    if isinstance(value, str):
        return _HOLE.sub(lambda hole: words[hole[1]], value)
    return value


def _set(body: Any, where: list[str], value: Any, *, over: bool) -> None:
    """Put a value at a path. A part that ends with ``[]`` is a list whose entries all get it, where there are some."""
    first, *rest = where
    if first.endswith("[]"):
        for each in body.get(first[:-2], []):
            _set(each, rest, value, over=over)
    elif rest:
        inner = body.setdefault(first, {})
        if isinstance(inner, dict):
            _set(inner, rest, value, over=over)
    elif over or body.get(first) is None:
        body[first] = deepcopy(value)


def _fingerprint(body: Body, where: str) -> str:
    text = json.dumps({key: each for key, each in body.items() if key != where}, sort_keys=True)
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
