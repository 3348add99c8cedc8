"""Tags that every taggable resource carries, by each cloud's own grammar."""

import re

from pydantic import AfterValidator

from gpufabric.spec.problems import shown


def tags_like(key: str, value: str, *, most: int, what: str, use: str, own: str, owner: str) -> AfterValidator:
    """A validator of a mapping of tags.

    Args:
        key, value: patterns of a whole key and a whole value.
        most: how many the user may have; what the cloud takes, less those that are put beside them.
        what: one of them, as the cloud's documentation calls it; use: of which letters it is made.
        own: how keys of ``owner`` begin, in lower case.
    """
    keys, values = re.compile(key), re.compile(value)

    def check(tags: dict[str, str]) -> dict[str, str]:
        if len(tags) > most:
            raise ValueError(f"{len(tags)} tags; write at most {most}")
        for name, text in tags.items():
            if not keys.fullmatch(name) or not values.fullmatch(text):
                raise ValueError(f"{shown(f'{name}={text}')} is not {what}; use {use}")
            if name.lower().startswith(own):
                raise ValueError(f"{shown(name)} begins with {own}, which is {owner}'s own; write another key")
        return tags

    return AfterValidator(check)
