"""Pairs of nodes as a square: one row and one column per node, a cell per measured pair."""

import re
from collections.abc import Sequence

from gpufabric.report.markup import Html, tag
from gpufabric.report.verdict import Pair, Verdict
from gpufabric.report.words import gbytes_text

MOST_NODES = 48
"""A square of more nodes has cells nobody can see; then the nodes of pairs that did not pass come first."""
_MOST_LETTERS = 22
_STEPS = 5


def latest(pairs: Sequence[Pair]) -> dict[frozenset[str], Pair]:
    """The last word on each pair: a later round measures again what an earlier one left open."""
    found: dict[frozenset[str], Pair] = {}
    for pair in sorted(pairs, key=lambda each: each.round or 0):
        found[frozenset(pair.nodes)] = pair
    return found


def shown_nodes(pairs: Sequence[Pair], most: int = MOST_NODES) -> list[str]:
    """The nodes of the square in natural order (n2 before n10)."""
    suspects = [node for pair in pairs if not pair.passed for node in pair.nodes]
    others = [node for pair in pairs for node in pair.nodes]
    return sorted(list(dict.fromkeys([*suspects, *others]))[:most], key=_natural)


def heatmap(verdict: Verdict, name: str) -> Html | None:
    """The square, or None without pairs. Its numbers stand in the table beside it."""
    if not verdict.pairs:
        return None
    found, nodes = latest(verdict.pairs), shown_nodes(verdict.pairs)
    best = max((pair.busbw_gbytes_per_s or 0 for pair in found.values()), default=0)
    cell = min(max(560 // len(nodes), 12), 58)
    letters = max(min(len(node), _MOST_LETTERS) for node in nodes)
    labels = 20 + letters * 7
    side = cell * len(nodes)
    parts: list[Html] = []
    for row, node in enumerate(nodes):
        middle = labels + cell * row + cell / 2
        parts.append(_label(node, x=labels - 8, y=middle + 4, text_anchor="end"))
        turned = f"rotate(-60 {middle} {labels - 8})"
        parts.append(_label(node, x=middle, y=labels - 8, transform=turned, text_anchor="start"))
        for column, other in enumerate(nodes):
            x, y = labels + cell * column, labels + cell * row
            parts += _cell(found.get(frozenset((node, other))), node == other, x=x, y=y, cell=cell, best=best)
    return tag(
        "svg",
        tag("title", f"Pairs of nodes of {verdict.group}", id=f"{name}-title"),
        tag("desc", "The numbers stand in the table beside it.", id=f"{name}-desc"),
        *parts,
        viewBox=f"0 0 {labels + side + labels // 2} {labels + side + 4}",
        width=labels + side + labels // 2,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="heatmap",
    )


def _cell(pair: Pair | None, same: bool, *, x: float, y: float, cell: int, best: float) -> list[Html]:
    inner = cell - (2 if cell > 14 else 1)
    if pair is None or same:
        return [tag("rect", x=x, y=y, width=inner, height=inner, rx=2, class_="self" if same else "unmeasured")]
    busbw = pair.busbw_gbytes_per_s
    value = "no result" if busbw is None else gbytes_text(busbw)
    parts = [
        tag(
            "rect",
            tag("title", f"{pair.nodes[0]} and {pair.nodes[1]}: {pair.outcome or 'no outcome'}, {value}"),
            x=x,
            y=y,
            width=inner,
            height=inner,
            rx=2,
            class_=f"cell {_shade(pair, best)}",
            data_busbw=None if busbw is None else repr(busbw),
        )
    ]
    shade, middle = _shade(pair, best), x + inner / 2
    sign = "" if pair.passed else "\N{MULTIPLICATION SIGN}" if busbw is not None else "?"
    if cell >= 40 and busbw is not None:
        parts.append(tag("text", f"{busbw:.3g}", x=middle, y=y + inner / 2 + 4, text_anchor="middle", class_=f"in {shade}"))
        if sign:
            parts.append(tag("text", sign, x=x + inner - 9, y=y + 14, text_anchor="middle", class_=f"in {shade}"))
    elif sign and cell >= 12:
        size = round(min(cell * 0.6, 18), 1)
        at = round(y + inner / 2 + size * 0.35, 1)
        parts.append(tag("text", sign, x=middle, y=at, font_size=f"{size}px", text_anchor="middle", class_=f"in sign {shade}"))
    return parts


def _shade(pair: Pair, best: float) -> str:
    """How dark: passed pairs in steps of the best one's bandwidth, so that a slow pass is seen too."""
    if pair.busbw_gbytes_per_s is None:
        return "lost"
    if not pair.passed:
        return "slow"
    part = pair.busbw_gbytes_per_s / best if best > 0 else 1
    return f"p{min(max(int(part * _STEPS) + 1, 1), _STEPS)}"


def _label(node: str, **attributes: str | float) -> Html:
    text = node if len(node) <= _MOST_LETTERS else f"{node[: _MOST_LETTERS // 2]}…{node[-_MOST_LETTERS // 2 + 1 :]}"
    return tag("text", text, tag("title", node), class_="node", **attributes)


def _natural(node: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part) for part in re.split(r"(\d+)", node)]
