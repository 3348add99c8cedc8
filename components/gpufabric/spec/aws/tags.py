"""Tags that every taggable resource of a component carries."""

import re
from typing import Annotated

from pydantic import AfterValidator

from gpufabric.spec.problems import shown

MOST_TAGS = 40
"""AWS takes 50 tags on a resource (EC2 user guide, Tag your resources); ten are left for names and for AWS's own."""
_KEY = re.compile(r"[\w.:/=+\-@ ]{1,128}")
_VALUE = re.compile(r"[\w.:/=+\-@ ]{0,256}")


def _tags(value: dict[str, str]) -> dict[str, str]:
    if len(value) > MOST_TAGS:
        raise ValueError(f"{len(value)} tags; write at most {MOST_TAGS}")
    for key, text in value.items():
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(text):
            raise ValueError(f"{shown(f'{key}={text}')} is not a tag; use letters, digits, spaces and .:/=+-@_ (128 and 256)")
        if key.lower().startswith("aws:"):
            raise ValueError(f"{shown(key)} begins with aws:, which is AWS's own; write another key")
    return value


Tags = Annotated[dict[str, str], AfterValidator(_tags)]
