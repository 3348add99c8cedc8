r"""Patterns of published models, which are written for Java and JavaScript, as Python's.

What differs: classes of characters such as ``\p{L}``, characters above U+FFFF (five or six digits after ``\u``, or pairs of
surrogates), brackets and hyphens that need no backslash there, and flags that may stand anywhere.
"""

import re
import sys
import unicodedata
from functools import cache
from itertools import groupby

_CLASS = re.compile(r"\\p\{(?:Is)?(\w+)\}")
_LONG = re.compile(r"\\u(10[0-9A-Fa-f]{4}|10000)(?=-|\])")
_PAIRS = r"\uD800\uDC00-\uDBFF\uDFFF"
# Names that Java gives to classes of ASCII.
_JAVA = {"Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Lower": "a-z", "Upper": "A-Z", "ASCII": "\\x00-\\x7f"}
_JAVA |= {"Graph": "!-~", "Print": " -~", "Space": "\\s", "Punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")}


def matches(pattern: str, text: str) -> bool:
    """Does the whole text match? Smithy's rule is that a part is enough, but the services behind these models want it whole."""
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    flags = "(?i)" if "(?i)" in pattern else ""
    text = pattern.replace("(?i)", "").replace(_PAIRS, r"\U00010000-\U0010FFFF")
    text = _LONG.sub(lambda found: f"\\U{int(found[1], 16):08x}", text)
    result, position, inside = [flags], 0, False
    while position < len(text):
        if found := _CLASS.match(text, position):
            ranges = _JAVA.get(found[1]) or _category(found[1])
            result.append(ranges if inside else f"[{ranges}]")
            position = found.end()
            continue
        piece = text[position : position + (2 if text[position] == "\\" else 1)]
        position += len(piece)
        if inside and piece in ("\\w", "\\d", "\\s") and text.startswith("-", position):
            piece, position = f"{piece}\\-", position + 1  # no range can begin here
        result.append("\\[" if inside and piece == "[" else piece)
        inside = piece == "[" or (inside and piece != "]")
    return re.compile("".join(result))


def _category(name: str) -> str:
    """The ranges of a Unicode category (``L``, ``Lu``), for use inside brackets."""
    ranges = [f"\\U{first:08x}-\\U{last:08x}" for category, first, last in _categories() if category.startswith(name)]
    if not ranges:
        raise re.error(f"no Unicode category {name}")
    return "".join(ranges)


@cache
def _categories() -> list[tuple[str, int, int]]:
    """All characters as (category, first, last)."""
    found = []
    for category, run in groupby(range(sys.maxunicode + 1), key=lambda point: unicodedata.category(chr(point))):
        points = list(run)
        found.append((category, points[0], points[-1]))
    return found
