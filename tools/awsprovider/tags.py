"""Tags in one order: AWS's provider keeps them in a map of Go's, which has none."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

_IN_FORM = re.compile(r"(.*\bTags?(?:\.member)?)\.(\d+)\.(Key|Value)")
_IN_XML = re.compile(r"(?:<Tag>.*?</Tag>){2,}")


def sorted_tags(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request (as JSON) with its tags sorted by key."""
    settled = {name: _in_json(each) if name == "json" else each for name, each in request.items()}
    if "form" in settled:
        settled["form"] = _in_form(settled["form"])
    if "xml" in settled:
        tags = re.compile(r"<Tag>.*?</Tag>")
        settled["xml"] = _IN_XML.sub(lambda found: "".join(sorted(tags.findall(found[0]))), settled["xml"])
    return settled


def _in_form(form: Mapping[str, str]) -> dict[str, str]:
    lists: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    kept = {}
    for key, value in form.items():
        if found := _IN_FORM.fullmatch(key):
            lists[found[1]][found[2]][found[3]] = value
        else:
            kept[key] = value
    for prefix, tags in lists.items():
        for number, tag in enumerate(sorted(tags.values(), key=lambda each: each.get("Key", "")), start=1):
            kept |= {f"{prefix}.{number}.{name}": value for name, value in tag.items()}
    return dict(sorted(kept.items()))


def _in_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_json(each) for key, each in value.items()}
    if isinstance(value, list):
        inner = [_in_json(each) for each in value]
        tags = all(isinstance(each, dict) and each.keys() == {"Key", "Value"} for each in inner)
        return sorted(inner, key=lambda each: str(each["Key"])) if tags else inner
    return value
