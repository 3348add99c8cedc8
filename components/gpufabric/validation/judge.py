"""Holds a benchmark's output against what was asked for: pass, fail or unknown. Pure: text in, Measurement out.

The rules, each from a public failure (nccl-tests issues 7, 26, 71, 115, 294, 322; AICR 640, 1695):

- the out-of-place busbw of the largest requested size counts, never the average line;
- an exit code alone says nothing: 0 may be a usage text, and a good table with another code is unknown;
- wrong sums are a fail however fast they came;
- anything incomplete or contradictory is unknown, and unknown never opens a node.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from gpufabric.validation import collectives, measurement, table
from gpufabric.validation.gate_json import Expectation
from gpufabric.validation.lines import Row
from gpufabric.validation.measurement import Measurement
from gpufabric.validation.parts import Table

_SOCKET: Final = re.compile(r"Using network Socket|NET/Socket")
_NO_PLUGIN: Final = re.compile(r"NET/Plugin\s*: No plugin found")
_SLACK: Final = 0.005
"""Relative tolerance between the columns beside their printed rounding (times are averaged over ranks)."""
_ABSURD: Final = 3.0
_TIMEOUT_CODE: Final = 124


@dataclass(frozen=True)
class _Finding:
    outcome: str
    cause: str
    reason: str


def judge(output: str, expectation: Expectation, *, exit_code: int | None = None, error: str = "") -> Measurement:
    """Judge an output (log or `-J` document). `error`: what rank.sh said went wrong before the benchmark, if anything.

    Never raises on any text; never passes anything that is not a complete table.
    """
    parsed = table.parse(output)
    rows = [row for row in parsed.rows if row.size_bytes > 0]
    judged = _judged_row(parsed, expectation)
    finding = _finding(parsed, judged, expectation, exit_code, error.strip())
    smallest = min(rows, key=lambda row: row.size_bytes, default=None)
    side = judged.out_of_place if judged else None
    return Measurement(
        outcome=finding.outcome,
        cause=finding.cause,
        reason=finding.reason,
        ranks=_ranks_seen(parsed, judged, expectation),
        size_bytes=judged.size_bytes if judged else None,
        busbw_gbytes_per_s=measurement.finite(side.busbw_gbytes_per_s) if side else None,
        algbw_gbytes_per_s=measurement.finite(side.algbw_gbytes_per_s) if side else None,
        latency_us=measurement.finite(smallest.out_of_place.time_us) if smallest else None,
        exit_code=exit_code,
        hosts=tuple(dict.fromkeys(rank.host for rank in parsed.ranks)),
        table=measurement.cells(parsed.rows),
    )


def _finding(parsed: Table, judged: Row | None, wanted: Expectation, exit_code: int | None, error: str) -> _Finding:
    if bad := _corruption(parsed):
        return _Finding("fail", "wrong_sums", bad)
    if missing := _incomplete(parsed, judged, wanted, exit_code, error):
        return _Finding("unknown", "incomplete", missing)
    if judged is None:  # _incomplete has said so already
        return _Finding("unknown", "incomplete", "no row of the requested size")
    if wrong := _inconsistent(parsed, judged, wanted):
        return _Finding("unknown", "inconsistent", wrong)
    bad_transport = _transport(parsed, wanted)
    busbw = _busbw(judged, wanted)
    measured = f"busbw {_figure(busbw)} GB/s at {size_text(judged.size_bytes)}"
    floor = f"{_figure(wanted.floor_busbw_gbytes_per_s)} GB/s"
    if busbw < wanted.floor_busbw_gbytes_per_s:
        also = f"; {bad_transport.reason}" if bad_transport else ""
        return _Finding(
            "fail", bad_transport.cause if bad_transport else "slow", f"{measured} is below the floor of {floor}{also}"
        )
    if bad_transport:
        return bad_transport
    if exit_code:
        return _Finding(
            "unknown",
            "exit_code",
            f"the table is complete and good ({measured}), but the benchmark ended with exit code {exit_code}",
        )
    held = f", at least {floor}" if wanted.floor_busbw_gbytes_per_s else "; no floor is known for it"
    return _Finding("pass", "", f"{measured}{held}")


def _corruption(parsed: Table) -> str:
    """Wrong results, wherever they show. Before nccl-tests 2.13 the column is a deviation; then the footer alone decides."""
    if parsed.wrong_is_count:
        for row in parsed.rows:
            for side, name in ((row.out_of_place, "out-of-place"), (row.in_place, "in-place")):
                if side.wrong is not None and side.wrong > 0:
                    return f"wrong sums: {side.wrong:g} wrong elements at {size_text(row.size_bytes)} ({name})"
    for bounds in parsed.out_of_bounds:
        if bounds.status == "FAILED" or bounds.count > 0:
            return f"wrong sums: {bounds.count:g} values out of bounds ({bounds.status or 'no status'})"
    return ""


def _incomplete(parsed: Table, judged: Row | None, wanted: Expectation, exit_code: int | None, error: str) -> str:
    """Why the output is not a complete run of what was asked for; empty if it is."""
    ended = f"; the benchmark ended with exit code {exit_code}" if exit_code else ""
    if exit_code == _TIMEOUT_CODE:
        ended = "; the benchmark did not end in time and was stopped"
    if ended and parsed.last_words:
        ended += f"; its last words: {parsed.last_words!r}"
    if error and (exit_code or not parsed.rows):
        return error if parsed.rows or not exit_code else f"{error} (exit code {exit_code})"
    if wanted.collective not in collectives.FACTORS:
        return f"no bandwidth factor is known for {wanted.collective}; known: {', '.join(collectives.FACTORS)}"
    if parsed.collective is not None and parsed.collective != wanted.collective:
        return f"the output is of {parsed.collective}, not of {wanted.collective}"
    if not parsed.rows:
        return f"no rows in the output{ended}"
    if parsed.footers > 1:
        return f"{parsed.footers} footers: several runs are mixed in the output (independent jobs instead of one?)"
    return _wrong_ranks(parsed, judged, wanted) or _missing_sizes(parsed, judged, wanted, ended) or _unfinished(parsed, ended)


def _missing_sizes(parsed: Table, judged: Row | None, wanted: Expectation, ended: str) -> str:
    if parsed.reduced_max_bytes is not None:
        return f"the benchmark reduced the largest size to {size_text(parsed.reduced_max_bytes)} for want of memory"
    requested = collectives.requested_sizes(wanted.min_bytes, wanted.max_bytes, wanted.factor)
    if judged is None:
        return f"the largest size {size_text(requested[-1])} is not in the table{ended}"
    printed = [row.size_bytes for row in parsed.rows]
    if printed.count(judged.size_bytes) > 1:
        return f"size {size_text(judged.size_bytes)} is in the table {printed.count(judged.size_bytes)} times"
    for size in requested:
        if not {size, collectives.printed_size(wanted.collective, size, wanted.ranks)} & set(printed):
            return f"size {size_text(size)} is not in the table{ended}"
    return ""


def _unfinished(parsed: Table, ended: str) -> str:
    if parsed.footers == 0:
        return f"no footer: the output is cut off{ended}"
    if parsed.elided:
        return "rows were taken out of the output (a line `...`)"
    bounds = parsed.out_of_bounds[0]
    if bounds.status != "OK" or bounds.count != 0:
        return "the footer does not say `0 OK`"
    for row in parsed.rows:
        if row.out_of_place.wrong is None:
            return f"sums were not checked at {size_text(row.size_bytes)} (#wrong is N/A): run with validation on (-c 1)"
    return f"the benchmark reported: {parsed.errors[0]}" if parsed.errors else ""


def _wrong_ranks(parsed: Table, judged: Row | None, wanted: Expectation) -> str:
    listed = [rank.rank for rank in parsed.ranks]
    for rank in sorted(set(listed)):
        if listed.count(rank) > 1:
            return f"rank {rank} is listed {listed.count(rank)} times: independent jobs instead of one of {wanted.ranks} ranks"
    if listed and not parsed.ranks_cut:
        if sorted(listed) != list(range(wanted.ranks)):
            return f"{len(listed)} ranks took part, wanted {wanted.ranks}"
        return ""
    if judged is None:
        return ""  # the missing size is the better reason
    ranks = _recovered(judged, wanted)
    if len(ranks) != 1:
        return "the output has no complete rank list, and its numbers do not tell how many ranks took part"
    return "" if ranks[0] == wanted.ranks else f"by its numbers {ranks[0]} ranks took part, wanted {wanted.ranks}"


def _ranks_seen(parsed: Table, judged: Row | None, wanted: Expectation) -> int | None:
    if parsed.ranks and not parsed.ranks_cut:
        return len(parsed.ranks)
    ranks = _recovered(judged, wanted) if judged else range(0)
    return ranks[0] if len(ranks) == 1 else None


def _recovered(row: Row, wanted: Expectation) -> range:
    """Numbers of ranks that busbw/algbw of the row allows within its rounding."""
    side = row.out_of_place
    algbw, busbw = side.algbw_gbytes_per_s, side.busbw_gbytes_per_s
    _, half_algbw, half_busbw = side.half_units
    if not (math.isfinite(algbw) and math.isfinite(busbw) and algbw > half_algbw and busbw >= 0):
        return range(0)
    return collectives.possible_ranks(
        wanted.collective, (busbw - half_busbw) / (algbw + half_algbw), (busbw + half_busbw) / (algbw - half_algbw)
    )


def _inconsistent(parsed: Table, judged: Row, wanted: Expectation) -> str:
    """Columns that contradict each other, or numbers that are none."""
    factor = collectives.FACTORS[wanted.collective](wanted.ranks)
    for row in parsed.rows:
        side, where = row.out_of_place, f"at {size_text(row.size_bytes)}"
        numbers = (side.time_us, side.algbw_gbytes_per_s, side.busbw_gbytes_per_s)
        if not all(math.isfinite(each) and each >= 0 for each in numbers):
            return f"not a number {where}: time {side.time_us:g} us, algbw {numbers[1]:g}, busbw {numbers[2]:g} GB/s"
        if row.size_bytes == 0:
            continue
        if side.time_us <= 0:
            return f"no time {where}"
        half_time, half_algbw, half_busbw = side.half_units
        algbw = row.size_bytes / side.time_us / 1e3
        allowed = half_algbw + algbw * (_SLACK + half_time / side.time_us)
        if abs(numbers[1] - algbw) > allowed * 1.001:
            return f"inconsistent row {where}: algbw {numbers[1]:g} GB/s, but size over time is {algbw:.4g} GB/s"
        allowed = half_busbw + factor * (half_algbw + numbers[1] * _SLACK)
        if abs(numbers[2] - numbers[1] * factor) > allowed * 1.001:
            return (
                f"inconsistent row {where}: busbw {numbers[2]:g} GB/s is not algbw {numbers[1]:g} GB/s x {factor:.4g} "
                f"({wanted.collective} over {wanted.ranks} ranks)"
            )
    plausible, busbw = wanted.plausible_busbw_gbytes_per_s, judged.out_of_place.busbw_gbytes_per_s
    if plausible is not None and busbw > _ABSURD * plausible:
        return (
            f"busbw {_figure(busbw)} GB/s at {size_text(judged.size_bytes)} is absurd: more than 3 x {_figure(plausible)} GB/s"
        )
    return ""


def _transport(parsed: Table, wanted: Expectation) -> _Finding | None:
    """Whether the network in use is the one asked for; a fast fallback is still a fallback."""
    if wanted.transport_regex is None:
        return None
    pattern = re.compile(wanted.transport_regex)
    for line in parsed.transport:
        said = table.unsigned(line)
        fallback = _SOCKET.search(said) or (_NO_PLUGIN.search(said) and not pattern.search("NET/IB"))
        if fallback and not pattern.search(said):
            return _Finding("fail", "transport", f"wrong transport: {line!r} (wanted /{wanted.transport_regex}/)")
    if any(pattern.search(table.unsigned(line)) for line in parsed.transport):
        return None
    if parsed.transport:
        return _Finding(
            "fail", "transport", f"wrong transport: no line matches /{wanted.transport_regex}/; seen: {parsed.transport[0]!r}"
        )
    return _Finding(
        "unknown",
        "transport",
        f"the output says nothing of the transport (NCCL_DEBUG=INFO?); wanted /{wanted.transport_regex}/",
    )


def _judged_row(parsed: Table, wanted: Expectation) -> Row | None:
    largest = collectives.requested_sizes(wanted.min_bytes, wanted.max_bytes, wanted.factor)[-1]
    sizes = (largest, collectives.printed_size(wanted.collective, largest, wanted.ranks))
    return next((row for row in parsed.rows if row.size_bytes in sizes and row.size_bytes > 0), None)


def _busbw(row: Row, wanted: Expectation) -> float:
    """The printed busbw; where its rounding alone could decide, the one that follows from size and time."""
    printed, half_unit = row.out_of_place.busbw_gbytes_per_s, row.out_of_place.half_units[2]
    if abs(printed - wanted.floor_busbw_gbytes_per_s) > half_unit:
        return printed
    return row.size_bytes / row.out_of_place.time_us / 1e3 * collectives.FACTORS[wanted.collective](wanted.ranks)


def size_text(size_bytes: int) -> str:
    """16777216 -> `16 MiB`; what is no whole unit stays in bytes."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes >= 1 << shift and size_bytes % (1 << shift) == 0:
            return f"{size_bytes >> shift} {unit}"
    return f"{size_bytes} B"


def _figure(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"
