"""A benchmark's whole output as data: rows, ranks, footers, transport. Reads nccl-tests of all ages and our own benchmark.

Source of the grammar: nccl-tests' src/common.cu and src/util.cu, and public outputs of all ages. What the output means is
the judge's business; this only reads. Nothing here raises on any text, and nothing of the environment is kept.
"""

import re
from dataclasses import dataclass
from typing import Final

from gpufabric.validation import lines, table_json
from gpufabric.validation.parts import OutOfBounds, Rank, Table

_RANK: Final = re.compile(
    r"#?\s*Rank\s+([0-9]{1,9})\s+(?:Group\s+([0-9]{1,9})\s+)?(?:Pid\s+([0-9]{1,18})\s+)?on\s+(\S+)\s+device\s+([0-9]{1,9})\b",
    re.ASCII,
)
_BOUNDS: Final = re.compile(r"#\s*Out of bounds values\s*:\s*(\S+)\s*(OK|FAILED)?", re.ASCII)
_AVERAGE: Final = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)", re.ASCII)
_RUN: Final = re.compile(r"#.*\bminBytes\s+([0-9]{1,18})\s+maxBytes\s+([0-9]{1,18})\b", re.ASCII)
_REDUCED: Final = re.compile(r"#\s*Reducing maxBytes to\s+([0-9]{1,18})", re.ASCII)
_COLLECTIVE: Final = re.compile(r"#\s*Collective test starting:\s*(\S+)", re.ASCII)
_ERROR: Final = re.compile(
    r"^#\s*error:|Test (?:NCCL|CUDA|MPI|timeout) ?(?:failure|error)|Test failure|\b(?:CUDA|NCCL) failure\b",
    re.IGNORECASE,
)
_TRANSPORT: Final = re.compile(r"NET/|Using network|Selected [Pp]rovider|\bvia (?:P2P|SHM|NET|NVL)")
_SENDER: Final = re.compile(r"^\S+:[0-9]+:[0-9]+\s+\[[^\]]*\]\s+(?:NCCL (?:INFO|WARN)\s+)?", re.ASCII)
# Says nothing of an end: NCCL's log, libevent's warnings while mpirun takes a dead rank's pipes down, and what Open MPI says
# about help that several ranks sent alike (show_help).
_CHATTER: Final = re.compile(
    r"^(\S+:[0-9]+:[0-9]+\s+\[[^\]]*\]\s+NCCL INFO\b|\[warn\] "
    r"|\[[^\]]+\] (?:[0-9]+ more process(?:es)? ha(?:s|ve) sent help message|Set MCA parameter \"\w*help_aggregate))",
    re.ASCII,
)
_WORDS: Final = re.compile(r"[A-Za-z]{3}")
_MAX_TRANSPORT_LINES: Final = 64
_MAX_ERROR_LINES: Final = 8
_MAX_KEPT: Final = 300


@dataclass
class _Found:
    rows: list[lines.Row]
    ranks: list[Rank]
    bounds: list[OutOfBounds]
    averages: list[float]
    runs: list[tuple[int, int]]
    transport: dict[str, str]
    errors: list[str]
    collectives: list[str]
    reduced: int | None = None
    last_words: str = ""
    in_help: bool = False
    help_words: str = ""
    elided: bool = False
    ranks_cut: bool = False
    wrong_is_count: bool = True


def parse(text: str) -> Table:
    """Any text -> Table (empty where nothing was recognised). A `-J` JSON document is recognised by itself."""
    if text.lstrip()[:1] == "{":
        document = table_json.parse(text)
        if document is not None:
            return document
    found = _Found([], [], [], [], [], {}, [], [])
    layout: lines.Layout | None = None
    all_lines = lines.split(text)
    for at, line in enumerate(all_lines):
        header = lines.layout(line, all_lines[at + 1] if at + 1 < len(all_lines) else "")
        if header is not None:
            layout = header
            found.wrong_is_count = header.wrong_is_count
            continue
        row = lines.row(line, layout)
        if row is not None:
            found.rows.append(row)
        else:
            _other(line, found)
    return Table(
        rows=tuple(found.rows),
        ranks=tuple(found.ranks),
        ranks_cut=found.ranks_cut,
        collective=found.collectives[0] if len(set(found.collectives)) == 1 else None,
        min_bytes=found.runs[0][0] if found.runs else None,
        max_bytes=found.runs[0][1] if found.runs else None,
        reduced_max_bytes=found.reduced,
        out_of_bounds=tuple(found.bounds),
        averages=tuple(found.averages),
        runs=len(found.runs),
        wrong_is_count=found.wrong_is_count,
        elided=found.elided,
        transport=tuple(found.transport.values()),
        errors=tuple(found.errors),
        last_words=found.last_words or found.help_words,
    )


def unsigned(line: str) -> str:
    """A line of NCCL's log without the host, process and device that NCCL puts before it."""
    return _SENDER.sub("", line)


def _other(line: str, found: _Found) -> None:
    """A line that is neither header nor row."""
    stripped = line.strip()
    if stripped in ("...", "…"):
        found.elided = True
    rank = _RANK.match(stripped)
    if rank is not None:
        group, pid = rank[2], rank[3]
        found.ranks.append(Rank(int(rank[1]), rank[4], int(rank[5]), int(group) if group else None, int(pid) if pid else None))
        found.ranks_cut |= stripped.endswith("...")
    elif stripped.startswith("#"):
        _comment(stripped, found)
    elif stripped.startswith("-" * 20):  # Open MPI prints its help and its epilogue between two such lines
        found.in_help = not found.in_help
        found.help_words = "" if found.in_help else found.help_words
    elif _WORDS.search(stripped) and found.in_help:
        found.help_words = found.help_words or stripped[:_MAX_KEPT]
    elif _WORDS.search(stripped) and not _CHATTER.match(stripped):
        found.last_words = stripped[:_MAX_KEPT]
    if _ERROR.search(stripped) and len(found.errors) < _MAX_ERROR_LINES:
        found.errors.append(stripped[:_MAX_KEPT])
    if _TRANSPORT.search(stripped) and "set by environment" not in stripped and len(found.transport) < _MAX_TRANSPORT_LINES:
        wording = re.sub(r"[0-9a-fA-F]*[0-9][0-9a-fA-F]*", "#", unsigned(stripped)[:_MAX_KEPT])
        found.transport.setdefault(wording, stripped[:_MAX_KEPT])  # once per wording, with the host that said it


def _comment(line: str, found: _Found) -> None:
    if bounds := _BOUNDS.match(line):
        value = lines.number(bounds[1])
        found.bounds.append(OutOfBounds(value.value if value else float("nan"), bounds[2] or ""))
    elif average := _AVERAGE.match(line):
        value = lines.number(average[1])
        found.averages.append(value.value if value else float("nan"))
    elif run := _RUN.match(line):
        found.runs.append((int(run[1]), int(run[2])))
    elif reduced := _REDUCED.match(line):
        found.reduced = int(reduced[1])
    elif collective := _COLLECTIVE.match(line):
        found.collectives.append(table_json.collective_of(collective[1]))
