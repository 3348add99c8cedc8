"""What the judge found, small enough for a termination message: at most 4096 bytes of JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from gpufabric.validation import contract, gate_json, health_report
from gpufabric.validation.health_report import Report
from gpufabric.validation.lines import Row

Cells = tuple[float | None, ...]
"""A table row: size, time_us, algbw, busbw, wrong, and the last four once more in-place; None for nan, inf and N/A."""

_MOST_REASON: Final = 300
_OPTIONAL: Final = ("ranks", "size_bytes", "busbw_gbytes_per_s", "algbw_gbytes_per_s", "latency_us", "exit_code")


@dataclass(frozen=True)
class _Result:
    """A run in brief: outcome, reason and cause as a Measurement has them, and the figure of the judged size."""

    outcome: str
    reason: str
    cause: str = ""
    busbw_gbytes_per_s: float | None = None
    size_bytes: int | None = None

    def to_raw(self) -> dict[str, Any]:
        """Plain data; the reason is cut."""
        return {**self.__dict__, "reason": self.reason[:_MOST_REASON]}


_R = TypeVar("_R", bound=_Result)


@dataclass(frozen=True)
class InsideResult(_Result):
    """Stage 1 of one node."""


@dataclass(frozen=True)
class AlsoResult(_Result):
    """The second collective of a group's run."""

    collective: str = ""


@dataclass(frozen=True)
class Measurement:
    """Outcome (pass | fail | unknown) of one benchmark run, why, and the numbers behind it.

    `cause`, for the advice that goes with the reason: slow | wrong_sums | transport | incomplete | inconsistent | exit_code,
    or empty; `health`, `inside`: the node is not fit (stage 0, 1), nothing was measured between nodes.
    `ranks`: seen in the output. `size_bytes`: the size that was judged; busbw and algbw are its out-of-place numbers.
    `latency_us`: time of the smallest size. `exit_code`: the benchmark's, as rank.sh reported it. `hosts`: as the ranks
    call themselves. `health`, `inside`: what stages 0 and 1 found on the judge's node. `also`: the second collective, where one
    was asked for; its outcome is a part of `outcome`, all other numbers are the first's. None = not known.
    """

    outcome: str
    reason: str
    cause: str = ""
    ranks: int | None = None
    size_bytes: int | None = None
    busbw_gbytes_per_s: float | None = None
    algbw_gbytes_per_s: float | None = None
    latency_us: float | None = None
    exit_code: int | None = None
    hosts: tuple[str, ...] = ()
    table: tuple[Cells, ...] = ()
    health: Report | None = None
    inside: InsideResult | None = None
    also: AlsoResult | None = None

    def to_json(self, limit_bytes: int = contract.TERMINATION_MESSAGE_BYTES) -> str:
        """Compact JSON within the limit: the smallest sizes leave the table first, then hosts, then the reason is cut."""
        current = self
        while len(text := current._encode().encode()) > limit_bytes:
            if current.table:
                drop = max(1, (len(text) - limit_bytes) // 80)
                current = replace(current, table=current.table[drop:])
            elif current.hosts:
                current = replace(current, hosts=())
            elif len(current.reason) > 1:
                keep = min(len(current.reason) // 2, 1000) if len(current.reason) > 200 else len(current.reason) - 1
                current = replace(current, reason=current.reason[:keep])
            else:
                break
        return text.decode()

    def _encode(self) -> str:
        raw = {"version": gate_json.VERSION, **self.__dict__}
        raw["health"] = self.health.to_raw() if self.health else None
        raw["inside"] = self.inside.to_raw() if self.inside else None
        raw["also"] = self.also.to_raw() if self.also else None
        return json.dumps({key: value for key, value in raw.items() if value is not None}, separators=(",", ":"))


def parse(text: str) -> Measurement | None:
    """The judge's message -> Measurement; None if it is anything else (cut off, empty, another program's)."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or raw.get("version") != gate_json.VERSION or raw.get("outcome") not in contract.OUTCOMES:
        return None
    table, hosts = raw.get("table"), raw.get("hosts")
    return Measurement(
        outcome=raw["outcome"],
        reason=str(raw.get("reason", "")),
        cause=str(raw.get("cause", "")),
        hosts=tuple(str(each) for each in hosts) if isinstance(hosts, list) else (),
        table=tuple(_cells(row) for row in table if isinstance(row, list)) if isinstance(table, list) else (),
        health=health_report.parse(raw.get("health")),
        inside=_result(InsideResult, raw.get("inside")),
        also=_result(AlsoResult, raw.get("also"), "collective"),
        **{key: _number(raw.get(key)) for key in _OPTIONAL},
    )


def _result(kind: type[_R], raw: Any, *texts: str) -> _R | None:
    """`texts`: the keys that this kind has beside those of all."""
    if not isinstance(raw, dict) or raw.get("outcome") not in ("pass", "fail", "unknown"):
        return None
    numbers = {key: _number(raw.get(key)) for key in ("busbw_gbytes_per_s", "size_bytes")}
    words: dict[str, Any] = {key: str(raw.get(key, "")) for key in ("reason", "cause", *texts)}
    return kind(raw["outcome"], **words, **numbers)


def cells(rows: Sequence[Row]) -> tuple[Cells, ...]:
    """Parsed rows as table rows."""
    out: list[Cells] = []
    for row in rows:
        line: list[float | None] = [row.size_bytes]
        for side in (row.out_of_place, row.in_place):
            line += [
                finite(side.time_us),
                finite(side.algbw_gbytes_per_s),
                finite(side.busbw_gbytes_per_s),
                None if side.wrong is None else finite(side.wrong),
            ]
        out.append(tuple(line))
    return tuple(out)


def finite(value: float) -> float | None:
    """The number, or None for nan and inf (JSON has no word for them)."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def _cells(row: list[Any]) -> Cells:
    return tuple(_number(cell) for cell in row)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None
