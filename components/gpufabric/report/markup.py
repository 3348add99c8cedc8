"""HTML and SVG as text in which every value is escaped: nothing that a cluster says can become markup."""

import re
from html import escape

# Controls, and what turns the direction of writing: a node's name must look like what it is. Half characters cannot be sent.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_EMPTY = frozenset({"meta", "br", "hr", "wbr", "circle", "line", "path", "rect"})


class Html(str):
    """Text that is markup already. Only :func:`tag` and :func:`join` make it."""

    __slots__ = ()


Child = str | int | float | None


def clean(text: str) -> str:
    """The text with a visible sign in the place of what cannot or must not be shown."""
    return _UNSEEN.sub("\ufffd", text)


def tag(name: str, /, *children: Child, **attributes: Child) -> Html:
    """An element. ``class_`` is the attribute class, ``data_of`` is data-of; an attribute that is None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not children:
        return Html(f"<{name}{given}/>")
    return Html(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Children one after the other; None is nothing, plain text is escaped."""
    return Html(
        "".join(str(each) if isinstance(each, Html) else escape(clean(str(each))) for each in children if each is not None)
    )


def element(name: str, source: str) -> Html:
    """A style or script of this package, as it is: inside those two, HTML knows no escapes."""
    return Html(f"<{name}>{source}</{name}>")
