"""The judge, by table: what passes, what fails and why, and everything that is unknown."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.validation import collectives
from gpufabric.validation.gate_json import Expectation
from gpufabric.validation.judge import judge, size_text
from gpufabric.validation.measurement import Measurement, parse
from tests.validation.printer import Line, Sheet, healthy, last_row

WANTED = Expectation("mpi", "all_reduce", 2, 1, 1024, 1 << 24, 4, 0.03, "given in the spec")
NCCL = replace(WANTED, backend="nccl", transport_regex="NET/IB|Using network IB")
IB = ["h:1:2 [0] NCCL INFO Using network IBext_v8"]
SOCKET = ["h:1:2 [0] NCCL INFO Using network Socket"]


def alone(sheet: Sheet) -> str:
    """What N independent one-rank jobs print: N tables, each with busbw 0."""
    row = [replace(line, ranks=1) for line in sheet.rows]
    return replace(sheet, ranks=1, rows=row).text() * 2


def test_pass() -> None:
    found = judge(healthy().text(), WANTED, exit_code=0)
    assert found.outcome == "pass"
    assert (found.size_bytes, found.ranks, found.hosts) == (1 << 24, 2, ("node-0", "node-1"))
    assert found.busbw_gbytes_per_s == pytest.approx(0.06)
    assert found.latency_us == pytest.approx(1024 / 0.06 / 1e3, abs=0.01)
    assert len(found.table) == 8
    assert judge(healthy().text(), WANTED).outcome == "pass"


@pytest.mark.parametrize(
    ("text", "wanted", "says"),
    [
        (healthy(busbw=0.0068).text(), WANTED, "busbw 0.0068 GB/s at 16 MiB is below the floor of 0.03 GB/s"),
        (last_row(healthy(busbw=9.0), time_us=1e6).text(), WANTED, "busbw 0.0168 GB/s at 16 MiB"),
        (last_row(healthy(), wrong="3").text(), WANTED, "wrong sums: 3 wrong elements at 16 MiB (out-of-place)"),
        (last_row(healthy(), wrong_in_place="1").text(), WANTED, "wrong sums: 1 wrong elements at 16 MiB (in-place)"),
        (replace(healthy(), bounds="2 FAILED").text(), WANTED, "wrong sums: 2 values out of bounds (FAILED)"),
        (replace(healthy(), bounds="0 FAILED").text(), WANTED, "out of bounds (FAILED)"),
        (replace(healthy(), before_rows=SOCKET).text(), NCCL, f"wrong transport: {SOCKET[0]!r}"),
        (replace(healthy(), before_rows=IB + SOCKET).text(), NCCL, f"wrong transport: {SOCKET[0]!r}"),
        (replace(healthy(busbw=0.01), before_rows=SOCKET).text(), NCCL, "below the floor of 0.03 GB/s; wrong transport"),
        (
            replace(healthy(), before_rows=["h:1:2 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)", *IB]).text(),
            replace(NCCL, transport_regex="Libfabric|IBext"),
            "No plugin found",
        ),
    ],
)
def test_fail(text: str, wanted: Expectation, says: str) -> None:
    found = judge(text, wanted, exit_code=0)
    assert (found.outcome, says in found.reason) == ("fail", True), found.reason


def cut(sheet: Sheet, drop: str) -> str:
    return "".join(line + "\n" for line in sheet.text().splitlines() if drop not in line)


@pytest.mark.parametrize(
    ("text", "wanted", "exit_code", "says"),
    [
        ("", WANTED, 0, "no rows in the output"),
        ("USAGE: all_reduce_perf [-t nthreads]\n", WANTED, 0, "no rows in the output"),
        ("", WANTED, 124, "did not end in time"),
        ("", WANTED, 137, "ended with exit code 137"),
        ("", WANTED, 1, "no rows in the output; the benchmark ended with exit code 1"),
        (
            healthy().text(),
            WANTED,
            1,
            "complete and good (busbw 0.06 GB/s at 16 MiB), but the benchmark ended with exit code 1",
        ),
        (replace(healthy(), footers=0).text(), WANTED, 0, "no footer: the output is cut off"),
        (replace(healthy(), footers=2).text(), WANTED, 0, "2 footers"),
        (cut(healthy(), "Avg bus"), WANTED, 0, "no footer"),
        (healthy(largest=1 << 22).text(), WANTED, 0, "the largest size 16 MiB is not in the table"),
        (cut(healthy(), " 65536 "), WANTED, 0, "size 64 KiB is not in the table"),
        (replace(healthy(), elided=True).text(), WANTED, 0, "taken out of the output"),
        (healthy().text(), replace(WANTED, ranks=4), 0, "2 ranks took part, wanted 4"),
        (alone(healthy()), WANTED, 0, "footers: several runs"),
        (replace(healthy(), footers=0).text() + healthy().text(), WANTED, 0, "rank 0 is listed 2 times"),
        (replace(healthy(ranks=16), rank_lines=False).text(), WANTED, 0, "by its numbers 16 ranks took part, wanted 2"),
        (
            replace(healthy(), rank_lines=False, collective="broadcast").text(),
            replace(WANTED, collective="broadcast"),
            0,
            "do not tell how many ranks",
        ),
        (healthy().text(), replace(WANTED, collective="all_gather"), 0, "the output is of all_reduce, not of all_gather"),
        (healthy().text(), replace(WANTED, collective="hypercube"), 0, "no bandwidth factor is known for hypercube"),
        (last_row(healthy(), busbw_times=2.0).text(), WANTED, 0, "inconsistent row at 16 MiB: busbw"),
        (healthy().text().replace(" 0.0600 ", " 0.0900 "), WANTED, 0, "inconsistent row"),
        (healthy().text().replace(" 0.0600 ", " nan "), WANTED, 0, "not a number"),
        (healthy().text().replace(" 0.0600 ", " inf "), WANTED, 0, "not a number"),
        (healthy(busbw=7e6).text(), replace(WANTED, plausible_busbw_gbytes_per_s=400.0), 0, "no time at"),
        (
            last_row(healthy(), time_us=8.39).text(),
            replace(WANTED, plausible_busbw_gbytes_per_s=400.0),
            0,
            "absurd: more than 3 x 400 GB/s",
        ),
        (last_row(healthy(), wrong="N/A").text(), WANTED, 0, "sums were not checked at 16 MiB"),
        (replace(healthy(), bounds="0").text(), WANTED, 0, "does not say `0 OK`"),
        (replace(healthy(), tail=["# error: oops"]).text(), WANTED, 0, "the benchmark reported: # error: oops"),
        (replace(healthy(), tail=["# Reducing maxBytes to 1024 due to memory limitation"]).text(), WANTED, 0, "want of memory"),
        (healthy().text(), NCCL, 0, "says nothing of the transport"),
        (
            replace(healthy(), rows=[*healthy().rows, healthy().rows[-1]]).text(),
            WANTED,
            0,
            "size 16 MiB is in the table 2 times",
        ),
    ],
)
def test_unknown(text: str, wanted: Expectation, exit_code: int, says: str) -> None:
    found = judge(text, wanted, exit_code=exit_code)
    assert (found.outcome, says in found.reason) == ("unknown", True), found.reason


def test_the_last_words_of_a_failed_benchmark_are_passed_on() -> None:
    found = judge("Traceback:\nModuleNotFoundError: No module named 'mpi4py'\n", WANTED, exit_code=1)
    assert found.reason.endswith("""exit code 1; its last words: "ModuleNotFoundError: No module named 'mpi4py'\"""")


def test_what_rank_sh_said_comes_first() -> None:
    found = judge("", WANTED, exit_code=72, error="peer 1 (a-1.b) is unreachable after 60 s: refused\n")
    assert found.reason == "peer 1 (a-1.b) is unreachable after 60 s: refused (exit code 72)"


def test_an_other_transport_is_a_fail_and_the_right_one_passes() -> None:
    other = ["h:1:2 [0] NCCL INFO NET/OFI Selected provider is efa"]
    assert "no line matches" in judge(replace(healthy(), before_rows=other).text(), NCCL).reason
    assert judge(replace(healthy(), before_rows=other).text(), NCCL).outcome == "fail"
    assert judge(replace(healthy(), before_rows=IB).text(), NCCL).outcome == "pass"
    plugin = ["h:1:2 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)", *IB]
    assert judge(replace(healthy(), before_rows=plugin).text(), NCCL).outcome == "pass"
    assert judge(replace(healthy(), before_rows=SOCKET).text(), replace(NCCL, transport_regex="Socket")).outcome == "pass"


def test_the_average_is_never_looked_at() -> None:
    assert judge(replace(healthy(busbw=0.001), average="999").text(), WANTED).outcome == "fail"
    assert judge(replace(healthy(), average="0.0000001").text(), WANTED).outcome == "pass"


def test_rounding_does_not_decide() -> None:
    """busbw 0.0252 printed as 0.03, as nccl-tests prints it, is still below a floor of 0.03."""
    size = 1 << 24
    time_us = size / 0.0252 / 1e3
    row = f" {size} {size // 4} float sum -1 {time_us:.0f} 0.03 0.03 0 {time_us:.0f} 0.03 0.03 0"
    text = "\n".join(row if line.split()[:1] == [str(size)] else line for line in healthy().text().splitlines())
    found = judge(text, WANTED)
    assert found.outcome == "fail"
    assert "0.0252" in found.reason


@pytest.mark.parametrize("collective", list(collectives.FACTORS))
@pytest.mark.parametrize("ranks", [2, 3, 16])
def test_every_collective(collective: str, ranks: int) -> None:
    wanted = replace(WANTED, collective=collective, ranks=ranks)
    if ranks == 3 and collective in ("all_gather", "reduce_scatter"):
        rows = [
            replace(row, size=collectives.printed_size(collective, row.size, ranks)) for row in healthy(ranks, collective).rows
        ]
        assert judge(replace(healthy(ranks, collective), rows=rows).text(), wanted).outcome == "pass"
    else:
        assert judge(healthy(ranks, collective).text(), wanted).outcome == "pass"


@pytest.mark.parametrize("ranks", [2, 8, 16, 64])
def test_ranks_are_recovered_from_the_numbers(ranks: int) -> None:
    sheet = healthy(ranks, busbw=300.0, largest=1 << 32)
    sheet = replace(sheet, rank_lines=False, rows=[row for row in sheet.rows if row.size >= 1 << 20])
    wanted = replace(WANTED, ranks=ranks, max_bytes=1 << 32, min_bytes=1 << 20)
    found = judge(sheet.text(), wanted)
    assert (found.outcome, found.ranks) == ("pass", ranks)


def test_requested_sizes() -> None:
    assert collectives.requested_sizes(8, 100, 2) == [8, 16, 32, 64]
    assert collectives.requested_sizes(8, 8, 2) == [8]
    assert (size_text(1 << 30), size_text(3 << 20), size_text(1000), size_text(1536)) == ("1 GiB", "3 MiB", "1000 B", "1536 B")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_a_damaged_output_never_passes(seed: int) -> None:
    """Take lines out of a good output or cut its end off: a row, a footer line or one rank less is unknown."""
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    lines = healthy().text().splitlines()
    needed = {line for line in lines if " float " in line or "Out of bounds" in line or "Avg bus" in line}
    ranks = {line for line in lines if " Rank " in line}
    kept = [line for line in lines if rng.random() > 0.07]
    if rng.random() < 0.3:
        kept = kept[: rng.randrange(len(kept) + 1)]
    listed = len(ranks & set(kept))  # with no rank line left the numbers tell how many ranks took part
    whole = needed <= set(kept) and listed in (0, 2)
    assert judge("\n".join(kept), WANTED, exit_code=0).outcome == ("pass" if whole else "unknown")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=600))
def test_garbage_is_unknown(text: str) -> None:
    found = judge(text, WANTED, exit_code=0)
    assert found.outcome == "unknown"
    assert found.reason


def test_measurement_fits_and_reads_back() -> None:
    found = judge(healthy().text(), WANTED, exit_code=0)
    assert parse(found.to_json()) == found
    rows = [Line(8 * k, 10.0 + k) for k in range(1, 300)]
    long = replace(judge(Sheet(rows).text(), WANTED), reason="x" * 9000)
    assert len(long.to_json().encode()) <= 4096
    short = parse(long.to_json())
    assert short is not None
    assert short.outcome == "unknown"
    many = replace(judge(Sheet(rows).text(), WANTED), reason="é" * 200)
    small = parse(many.to_json())
    assert small is not None
    assert small.table[-1][0] == rows[-1].size  # the largest sizes stay
    assert small.reason == "é" * 200
    for text in ("", "{", "[]", '{"version":1}', '{"version":9,"outcome":"pass"}', "null"):
        assert parse(text) is None
    assert parse('{"version":1,"outcome":"pass","table":[1,[2,"x"]],"hosts":3}') == Measurement("pass", "", table=((2, None),))
