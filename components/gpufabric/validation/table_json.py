"""nccl-tests' `-J` document as a Table.

Source: nccl-tests src/util.cu, document versions 1 to 3. The document's `env` holds the whole environment, tokens included:
it is never read into anything. Booleans are strings, nan is a string, inf is printed bare.
"""

import json
import math
import re
from typing import Any, Final

from gpufabric.validation.lines import Row, Side
from gpufabric.validation.parts import OutOfBounds, Rank, Table

_PROGRAM: Final = re.compile(r"([a-z_]+?)_perf(?:_mpi)?(?:\.exe)?\Z")
_BARE: Final = re.compile(r"(?<=[:\[,])\s*(-?)inf(?=[,\]}\s])|(?<=[:\[,])\s*-?nan(?=[,\]}\s])")
_HALF_UNIT: Final = 5e-7  # "%lf" prints six places
_LARGEST: Final = 10**18


def parse(text: str) -> Table | None:
    """The document -> Table; None if it is not such a document (then it may be a log). Never raises."""
    try:
        raw = json.loads(_BARE.sub(lambda m: "NaN" if "nan" in m[0] else f"{m[1]}Infinity", text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get("results"), list):
        return None
    config = _object(raw.get("config"))
    devices = config.get("devices")
    rows = [row for each in raw["results"] if (row := _row(_object(each))) is not None]
    ended = isinstance(raw.get("end_time"), str)  # no end_time: the run was aborted, its footer is worth nothing
    bounds, average = _object(raw.get("out_of_bounds")), _object(raw.get("average_bus_bandwidth"))
    names = {collective_of(each) for each in _program_names(raw)}
    errors = raw.get("errors")
    return Table(
        rows=tuple(rows),
        ranks=tuple(rank for each in devices if (rank := _rank(_object(each)))) if isinstance(devices, list) else (),
        ranks_cut=_integer(config.get("nthreads"), 1) * _integer(config.get("ngpus"), 1) > 1,
        collective=names.pop() if len(names) == 1 else None,
        min_bytes=_integer(config.get("minimum_bytes")) if "minimum_bytes" in config else None,
        max_bytes=_integer(config.get("maximum_bytes")) if "maximum_bytes" in config else None,
        out_of_bounds=(_bounds(bounds),) if bounds and ended else (),
        averages=(_real(average.get("bandwidth")),) if average and ended else (),
        runs=1,
        errors=tuple(str(each)[:300] for each in errors[:8]) if isinstance(errors, list) else (),
    )


def collective_of(program: str) -> str:
    """`/usr/local/bin/all_reduce_perf_mpi` -> `all_reduce`; other names as they are."""
    name = program.rsplit("/", 1)[-1]
    match = _PROGRAM.match(name)
    return match[1] if match else name


def _program_names(raw: dict[str, Any]) -> list[str]:
    """The first argument is the program; the other arguments are not looked at."""
    args = raw.get("args")
    return [args[0]] if isinstance(args, list) and args and isinstance(args[0], str) and _PROGRAM.search(args[0]) else []


def _row(raw: dict[str, Any]) -> Row | None:
    sides = [_object(raw.get(key)) for key in ("out_of_place", "in_place")]
    size, count = raw.get("size"), raw.get("count")
    if not _is_integer(size) or not _is_integer(count) or not all(sides):
        return None
    return Row(
        size_bytes=_integer(size),
        count=_integer(count),
        type=str(raw.get("type")),
        redop=str(raw.get("redop") or ""),
        root=str(raw.get("root") or "").strip(),
        out_of_place=_side(sides[0]),
        in_place=_side(sides[1]),
    )


def _side(raw: dict[str, Any]) -> Side:
    wrong = _real(raw.get("nwrong"))
    return Side(
        time_us=_real(raw["time"] if "time" in raw else raw.get("cpu_time")),
        algbw_gbytes_per_s=_real(raw.get("alg_bw")),
        busbw_gbytes_per_s=_real(raw.get("bus_bw")),
        wrong=None if math.isnan(wrong) else wrong,
        half_units=(_HALF_UNIT, _HALF_UNIT, _HALF_UNIT),
    )


def _rank(raw: dict[str, Any]) -> Rank | None:
    if not _is_integer(raw.get("rank")) or not isinstance(raw.get("hostname"), str):
        return None
    return Rank(
        _integer(raw["rank"]),
        raw["hostname"],
        _integer(raw.get("device")),
        _integer(raw.get("group")),
        _integer(raw.get("pid")),
    )


def _bounds(raw: dict[str, Any]) -> OutOfBounds:
    status = {"true": "OK", "false": "FAILED"}.get(str(raw.get("okay")).lower(), "")
    return OutOfBounds(_real(raw.get("count")), status)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _integer(value: Any, default: int = 0) -> int:
    return int(value) if _is_integer(value) else default


def _real(value: Any) -> float:
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return math.nan
