"""One line of benchmark output: its text without labels and colours, its numbers, its row.

The grammar is nccl-tests' (src/util.cu and its older forms). A row is recognised by its shape, not by its place:
`size count type [redop] [root]`, then the out-of-place and the in-place columns. Nothing here raises on any text.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PREFIX: Final = re.compile(
    r"\s*(?:"
    # kubectl --timestamps, CRI files
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2})\s(?:std(?:out|err)\s[FP]\s)?"
    r"|\[[0-9]+(?:,\s*[0-9]+)*\](?:<std(?:out|err|diag)>)?:?\s?"  # hydra -l, Open MPI --tag-output
    r"|\[pod/[^\]\s]*\]\s?"  # kubectl logs --prefix
    r"|\[?(?:default|rank)[0-9]+\]?:\s?"  # torchrun
    r"|[0-9]{1,6}:(?:\s|(?=#)|$)"  # srun -l
    r")"
)
_LABEL: Final = re.compile(r"\[[0-9]+(?:,\s*[0-9]+)*\](?:<std(?:out|err)>:?)?")
_INTEGER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,30}(?:\.([0-9]{0,30}))?(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII)
_SPECIAL: Final = re.compile(r"[+-]?(?:nan|inf(?:inity)?)|N/A", re.IGNORECASE)
_ROOT: Final = re.compile(r"-?[0-9]{1,6}", re.ASCII)
_MAX_LINE: Final = 4000
_MAX_LEADING_WORDS: Final = 8

TIME_NAMES: Final = ("time", "cputime", "cpu_time")
WRONG_NAMES: Final = ("#wrong", "error")


@dataclass(frozen=True)
class Number:
    """A printed number and half a unit of its last printed place (how far the true value may lie away)."""

    value: float
    half_unit: float


@dataclass(frozen=True)
class Side:
    """One side (out-of-place or in-place) of a row; `N/A` numbers are nan, a `wrong` of `N/A` (not checked) is None.

    `half_units`: rounding of time, algbw and busbw as printed. Before nccl-tests 2.13 `wrong` is a deviation, not a count.
    """

    time_us: float
    algbw_gbytes_per_s: float
    busbw_gbytes_per_s: float
    wrong: float | None
    half_units: tuple[float, float, float]


@dataclass(frozen=True)
class Row:
    """One data row; `redop` and `root` are empty where the columns are."""

    size_bytes: int
    count: int
    type: str
    redop: str
    root: str
    out_of_place: Side
    in_place: Side


@dataclass(frozen=True)
class Layout:
    """Which columns follow `root`, as the header names them: `width` per side, where the four lie, and the unit of time."""

    width: int = 4
    time: int = 0
    algbw: int = 1
    busbw: int = 2
    wrong: int = 3
    root: bool | None = None
    time_us_per_unit: float = 1.0
    wrong_is_count: bool = True


def split(text: str) -> list[str]:
    """Lines of a log in any of its wrappings, without colours and labels; docker's JSON log lines are opened."""
    out: list[str] = []
    for raw in re.split(r"\r\n|\n|\r", text):
        line = raw
        if line.startswith('{"log":'):
            try:
                inner = json.loads(line).get("log")
            except (ValueError, RecursionError, AttributeError):
                inner = None
            line = inner.rstrip("\r\n") if isinstance(inner, str) else line
        out.append(clean(line))
    return out


def clean(line: str) -> str:
    """The line without ANSI sequences and without the labels of srun, mpirun, hydra, torchrun and kubectl (stacked too)."""
    line = _ANSI.sub("", line[:_MAX_LINE])
    for _ in range(4):
        match = _PREFIX.match(line)
        if match is None or match.end() == 0:
            break
        line = line[match.end() :]
    return line


def number(text: str) -> Number | None:
    """A printed number, `nan`, `inf` or `N/A` (as nan); None for any other text."""
    match = _DECIMAL.fullmatch(text)
    if match is not None:
        places = int(match[2] or 0) - len(match[1] or "")
        return Number(float(text), float(f"5e{places - 1}"))
    if _SPECIAL.fullmatch(text):
        return Number(float("nan") if "/" in text else float(text), 0.0)
    return None


def layout(line: str, units: str = "") -> Layout | None:
    """The columns from a header's names row (`# size count type … time algbw busbw #wrong …`); None for other lines.

    `units` is the row below it: nccl-tests of the 2.0 to 2.4 era may print `(ms)`.
    """
    words = line.replace("# ", " ", 1).split()
    if not line.lstrip().startswith("#") or "size" not in words or "busbw" not in words:
        return None
    starts = [at for at, word in enumerate(words) if word in TIME_NAMES]
    if len(starts) < 2:
        return None
    side = words[starts[0] : starts[1]]
    wrong = [at for at, word in enumerate(side) if word in WRONG_NAMES]
    if "algbw" not in side or "busbw" not in side or not wrong:
        return None
    return Layout(
        width=len(side),
        algbw=side.index("algbw"),
        busbw=side.index("busbw"),
        wrong=wrong[0],
        root="root" in words,
        time_us_per_unit=1000.0 if "(ms)" in units else 1.0,
        wrong_is_count=side[wrong[0]] == "#wrong",
    )


def row(line: str, known: Layout | None = None) -> Row | None:
    """The data row in a cleaned line, or None. `known`: the header's layout; without it 4 or 8 (-I) columns a side."""
    if line.lstrip().startswith("#"):
        return None
    tokens = _LABEL.sub(" ", line).split()
    for start in range(min(len(tokens) - 10, _MAX_LEADING_WORDS + 1)):
        size, count, kind = tokens[start : start + 3]
        if _INTEGER.fullmatch(size) and _INTEGER.fullmatch(count) and _WORD.fullmatch(kind) and number(kind) is None:
            found = _columns(tokens[start:], known)
            if found is not None:
                return found
    return None


def _columns(tokens: list[str], known: Layout | None) -> Row | None:
    rest = tokens[3:]
    redop = ""
    if _WORD.fullmatch(rest[0]) and number(rest[0]) is None:
        redop, rest = rest[0], rest[1:]
    values: list[Number] = []
    for token in rest:  # what follows the numbers is a time stamp (-S) or somebody else's message
        value = number(token)
        if value is None:
            break
        values.append(value)
    columns = known or Layout()
    width, has_root = columns.width, None
    if known is not None and known.root is not None and len(values) >= 2 * known.width + known.root:
        has_root = known.root
    else:
        widths = {known.width if known else 4, 4, 8}
        fits = [(w, extra) for w in sorted(widths) for extra in (0, 1) if len(values) == 2 * w + extra]
        if not fits:
            return None
        width, has_root = fits[0][0], bool(fits[0][1])
        columns = columns if width == columns.width else Layout()
    if has_root and not _ROOT.fullmatch(rest[0]):
        return None
    sides = values[1:] if has_root else values
    return Row(
        size_bytes=int(tokens[0]),
        count=int(tokens[1]),
        type=tokens[2],
        redop=redop,
        root=rest[0] if has_root else "",
        out_of_place=_side(sides[:width], columns),
        in_place=_side(sides[width : 2 * width], columns),
    )


def _side(values: list[Number], columns: Layout) -> Side:
    time, algbw, busbw, wrong = (values[at] for at in (columns.time, columns.algbw, columns.busbw, columns.wrong))
    unit = columns.time_us_per_unit
    return Side(
        time_us=time.value * unit,
        algbw_gbytes_per_s=algbw.value,
        busbw_gbytes_per_s=busbw.value,
        wrong=None if wrong.value != wrong.value else wrong.value,
        half_units=(time.half_unit * unit, algbw.half_unit, busbw.half_unit),
    )
