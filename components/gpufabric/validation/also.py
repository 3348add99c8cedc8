"""Judges a run of two collectives: the output is split where rank.sh says so, each part is judged alone, both must pass."""

import re
from dataclasses import replace
from typing import Final

from gpufabric.validation import contract, gate_json
from gpufabric.validation.also_wish import Also
from gpufabric.validation.judge import judge
from gpufabric.validation.measurement import AlsoResult, Measurement

_MARKER: Final = re.compile(rf"^{re.escape(contract.ALSO_MARKER)}$", re.MULTILINE)
_GRAVITY: Final = ("pass", "unknown", "fail")


def expectation(first: gate_json.Expectation, also: Also) -> gate_json.Expectation:
    """What the second part is held against. No floor is known: 0, under which nothing lies."""
    return replace(
        first,
        collective=also.collective,
        floor_busbw_gbytes_per_s=also.floor_busbw_gbytes_per_s or 0.0,
        floor_source=also.floor_source,
        also=None,
    )


def judge_run(output: str, wanted: gate_json.Expectation, *, exit_code: int | None = None, error: str = "") -> Measurement:
    """A whole run. `exit_code` and `error` are of the benchmark that ran last; the first must have ended with 0 by then.

    The numbers are the first collective's, those of the second stand in `also`. The graver outcome counts; the reason names
    the collective. Without a second collective this is `judge`.
    """
    if wanted.also is None:
        return judge(output, wanted, exit_code=exit_code, error=error)
    head, *rest = _MARKER.split(output, maxsplit=1)
    if rest:
        first = judge(head, wanted, exit_code=0)
        second = judge(rest[0], expectation(wanted, wanted.also), exit_code=exit_code, error=error)
    else:
        first = judge(head, wanted, exit_code=exit_code, error=error)
        second = Measurement("unknown", "it did not run", "incomplete")
    parts = [(wanted.collective, first)]
    if rest or first.outcome == "pass":  # else the first part says why there is no second one
        parts.append((wanted.also.collective, second))
    outcome = max((found.outcome for _, found in parts), key=_GRAVITY.index)
    deciding = [(collective, found) for collective, found in parts if found.outcome == outcome]
    causes = [found.cause for _, found in deciding]
    return replace(
        first,
        outcome=outcome,
        reason="; ".join(f"{collective}: {found.reason}" for collective, found in deciding),
        cause="wrong_sums" if "wrong_sums" in causes else causes[0],
        exit_code=exit_code,
        also=AlsoResult(
            outcome=second.outcome,
            reason=second.reason,
            cause=second.cause,
            busbw_gbytes_per_s=second.busbw_gbytes_per_s,
            size_bytes=second.size_bytes,
            collective=wanted.also.collective,
        ),
    )
