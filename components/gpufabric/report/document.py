"""An HTML document that stands alone: one style, one script, and a policy under which nothing else is loaded or runs."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from gpufabric.report.markup import Child, Html, element, tag

# Marks the page as whole, with the count of numbers in it: a program that looks at the page waits for that.
_SCRIPT = (
    "const root=document.documentElement;"
    "root.dataset.numbers=document.querySelectorAll('data').length;"
    "root.dataset.ready='yes';"
)


def document(title: str, *body: Child) -> str:
    """The whole text."""
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    # Nothing is loaded and nothing runs but the one style and the one script, whatever a value might try.
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(_SCRIPT)}; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        element("style", style),
    )
    page: Html = tag("html", head, tag("body", *body, element("script", _SCRIPT)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
