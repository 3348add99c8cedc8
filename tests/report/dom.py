"""A small reader of HTML: enough to ask a page what it says, whether we or a browser wrote it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "hr", "wbr", "link", "img", "input"})


@dataclass
class Element:
    """An element: its name, its attributes, and elements and texts inside it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str, **attributes: str) -> list["Element"]:
        """Every element below of this name with these attributes (``data_table`` is data-table)."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [each for each in self.walk() if each.name == name and wanted.items() <= each.attributes.items()]

    def one(self, name: str, **attributes: str) -> "Element":
        found = self.all(name, **attributes)
        assert len(found) == 1, f"{len(found)} elements {name} {attributes}"
        return found[0]

    def walk(self) -> Iterator["Element"]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    def numbers(self) -> list[float]:
        """The exact value of every number that is marked as one."""
        return [float(each.attributes["value"]) for each in self.all("data")]

    def cells(self, kind: str) -> list[list["Element"]]:
        """Head and cells of each row of the table ``kind``; none where there is no such table."""
        return [
            [cell for cell in row.walk() if cell.name in ("th", "td")]
            for table in self.all("table", data_table=kind)
            for row in table.one("tbody").all("tr")
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Element:
    """The document; an element that is not closed, or closed across another, fails."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"not closed: {[each.name for each in reader.open[1:]]}"
    return reader.root
