"""The parser: every age and wrapping of the grammar reads back; no text makes it raise."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.validation import lines, table, table_json
from gpufabric.validation.parts import Rank
from tests.validation.printer import Line, Sheet, healthy

LARGEST = 1 << 24


def check(text: str, sheet: Sheet) -> None:
    parsed = table.parse(text)
    assert [row.size_bytes for row in parsed.rows] == [row.size for row in sheet.rows]
    for got, want in zip(parsed.rows, sheet.rows, strict=True):
        for side in (got.out_of_place, got.in_place):
            assert side.time_us == pytest.approx(want.time_us, abs=0.005)
            assert side.algbw_gbytes_per_s == pytest.approx(want.algbw, abs=5.1e-5)
            assert side.busbw_gbytes_per_s == pytest.approx(want.busbw, abs=5.1e-5)
    assert len(parsed.ranks) == (sheet.ranks if sheet.rank_lines else 0)
    assert parsed.footers == sheet.footers


@pytest.mark.parametrize("age", ["now", "old", "blank"])
def test_ages(age: str) -> None:
    sheet = replace(healthy(), age=age)
    check(sheet.text(), sheet)
    parsed = table.parse(sheet.text())
    assert parsed.wrong_is_count is (age == "now")
    assert parsed.rows[0].redop == ("" if age == "blank" else "sum")
    assert parsed.rows[0].root == ("-1" if age == "now" else "")
    assert parsed.ranks[1] == Rank(1, "node-1", 0, 0 if age == "now" else None, 4001)
    assert (parsed.min_bytes, parsed.max_bytes, parsed.runs) == (1024, LARGEST, 1)
    assert parsed.collective == "all_reduce"


@pytest.mark.parametrize(
    "prefix",
    [
        "0: ",
        " 0: ",
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "[0] ",
        "[pod/train-ranks-0-x7k2p/rank] ",
        "[pod/a/rank] [1,0]<stdout>:",
        "[default0]:",
        "2026-11-29T10:11:12.123456789Z ",
        "2026-11-29T10:11:12.123456789Z stdout F 0: ",
        "\x1b[32m",
        "\x1b[0m\x1b[1;31m0: ",
        "launcher | ",
    ],
)
def test_prefixes(prefix: str) -> None:
    sheet = replace(healthy(), prefix=prefix)
    if prefix == "launcher | ":  # an unknown label: rows are found by their shape, comments are not
        assert len(table.parse(sheet.text()).rows) == len(sheet.rows)
    else:
        check(sheet.text(), sheet)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(newline: str) -> None:
    sheet = healthy()
    check(sheet.text().replace("\n", newline), sheet)


def test_docker_json_log() -> None:
    sheet = healthy()
    log = "\n".join(json.dumps({"log": line + "\n", "stream": "stdout"}) for line in sheet.text().splitlines())
    check(log, sheet)


def test_label_in_the_middle_of_a_row() -> None:
    text = healthy().text().replace("sum      -1", "sum [0]      -1[0] ")
    assert len(table.parse(text).rows) == len(healthy().rows)


def test_noise_between_and_behind_rows() -> None:
    noise = ["a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA", "Authorization required", "-" * 40]
    sheet = replace(healthy(), before_rows=noise, row_end=" a:1:2 [0] NCCL INFO comm 0x55 rank 0")
    check(sheet.text(), sheet)
    assert table.parse(sheet.text()).transport == (
        "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA",
    )


def test_transport_lines_once_per_wording_and_no_environment() -> None:
    noise = [f"h:{pid}:9 [0] NCCL INFO Using network IBext_v8" for pid in range(100)]
    noise.append("h:1:9 [0] NCCL INFO NCCL_NET set by environment to NET/SECRET")
    assert table.parse(replace(healthy(), before_rows=noise).text()).transport == (noise[0],)


def test_time_stamps_and_per_iteration_columns() -> None:
    for extra in (False, True):
        for end in ("", "  2026-11-29 10:11:12"):
            sheet = replace(healthy(), extra_columns=extra, row_end=end)
            check(sheet.text(), sheet)
    without_header = "\n".join(line for line in replace(healthy(), extra_columns=True).text().splitlines() if "#" not in line)
    assert len(table.parse(without_header).rows) == len(healthy().rows)


def test_milliseconds_of_old_times() -> None:
    sheet = replace(healthy(), unit="(ms)", age="old")
    assert table.parse(sheet.text()).rows[0].out_of_place.time_us == pytest.approx(sheet.rows[0].time_us * 1000, rel=1e-3)


def test_zero_size_rows_several_footers_elided_reduced_and_errors() -> None:
    zero = " 0 0 float none -1 0.30 0.00 0.00 0 0.26 0.00 0.00 0\n"
    parsed = table.parse(zero * 3 + replace(healthy(), footers=2, elided=True).text())
    assert [row.size_bytes for row in parsed.rows[:3]] == [0, 0, 0]
    assert parsed.footers == 2
    assert parsed.elided
    tail = [
        "# Reducing maxBytes to 1024 due to memory limitation",
        "# error: something",
        "a: Test NCCL failure common.cu:1 'x'",
    ]
    parsed = table.parse(replace(healthy(), tail=tail).text())
    assert parsed.reduced_max_bytes == 1024
    assert len(parsed.errors) == 2


EPILOGUE = f"""{"-" * 74}
mpirun detected that one or more processes exited with non-zero status
  Exit code:    1
{"-" * 74}
"""


def test_last_words() -> None:
    """Why a benchmark ended stands before mpirun's epilogue; where nothing does, the epilogue's first line."""
    assert table.parse(f"# a comment\nbash: line 1: oops: command not found\n{EPILOGUE}").last_words.endswith(
        "command not found"
    )
    assert table.parse(healthy().text() + EPILOGUE).last_words.startswith("mpirun detected")
    libevent = "[warn] Epoll MOD(1) on fd 24 failed. Old events were 6; read change was 0 (none): Bad file descriptor"
    assert table.parse(f"{libevent}\n{EPILOGUE}{libevent}").last_words.startswith("mpirun detected")
    alike = (
        "[n0-ranks-0:00086] 1 more process has sent help message help-mpi-btl-tcp.txt / peer hung up\n"
        '[n0-ranks-0:00086] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n'
    )
    assert table.parse(f"{EPILOGUE}{alike}").last_words.startswith("mpirun detected")
    assert table.parse(f"{EPILOGUE}{alike.replace('1 more process has', '2 more processes have')}").last_words.startswith(
        "mpirun"
    )
    assert table.parse(healthy().text()).last_words == ""


def test_cut_rank_list() -> None:
    text = "#  Rank  0 Group  0 Pid  1 on   node-0 device  0 [0000:1b:00] GPU\n"
    assert not table.parse(text).ranks_cut
    assert table.parse(text + "#  Rank  1 Group  0 Pid  1 on  node-0 device  1 [00...\n").ranks_cut


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("12.50", 12.5, 0.005),
        ("16215", 16215.0, 0.5),
        ("7.9e-05", 7.9e-5, 5e-7),
        ("1.2e+06", 1.2e6, 5e4),
        ("inf", math.inf, 0.0),
        ("-nan", math.nan, 0.0),
        ("N/A", math.nan, 0.0),
        ("1e9999", math.inf, math.inf),
    ],
)
def test_numbers(text: str, value: float, half: float) -> None:
    number = lines.number(text)
    assert number is not None
    assert number.value == pytest.approx(value, nan_ok=True)
    assert number.half_unit == pytest.approx(half)


@pytest.mark.parametrize("text", ["", "x", "1,5", "0x1b", "--1", "1.2.3", "٣", "9" * 40])
def test_what_is_no_number(text: str) -> None:
    assert lines.number(text) is None


def document(**changes: object) -> dict[str, object]:
    side = {"time": 2000.5, "alg_bw": 8.386, "bus_bw": 8.386, "nwrong": 0.0}
    return {
        "version": 2,
        "args": ["/opt/nccl-tests/all_reduce_perf_mpi", "-J", "x"],
        "env": ["TOKEN=hunter2"],
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": LARGEST,
            "maximum_bytes": LARGEST,
            "devices": [{"rank": rank, "group": 0, "pid": 1, "hostname": f"n{rank}", "device": 0} for rank in range(2)],
        },
        "results": [
            {
                "size": LARGEST,
                "count": 4,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": side,
                "in_place": side,
            }
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 8.386, "okay": "unchecked"},
        "end_time": "2026-11-29 10:11:12",
        **changes,
    }


def test_json_document() -> None:
    parsed = table.parse(json.dumps(document()))
    assert (parsed.collective, parsed.footers, len(parsed.ranks)) == ("all_reduce", 1, 2)
    assert parsed.rows[0].out_of_place.busbw_gbytes_per_s == 8.386
    assert "hunter2" not in repr(parsed)
    aborted = document()
    del aborted["end_time"]
    assert table.parse(json.dumps(aborted)).footers == 0
    text = json.dumps(document()).replace("8.386", "inf").replace("2000.5", '"nan"')
    side = table.parse(text).rows[0].out_of_place
    assert math.isinf(side.busbw_gbytes_per_s)
    assert math.isnan(side.time_us)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(document())), inner, max_size=6),
    max_leaves=12,
)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from([key for key in document() if key != "results"]), JSON), st.lists(JSON, max_size=3))
def test_any_json_is_read_without_a_crash(changes: dict[str, object], results: list[object]) -> None:
    parsed = table_json.parse(json.dumps(document(**{"results": results, **changes})))
    assert parsed is not None
    assert len(parsed.rows) <= len(results)
    assert table.parse(json.dumps(document(results=results))).runs == 1


SIZES = st.lists(st.integers(1, 1 << 36), min_size=1, max_size=6, unique=True)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    ranks = draw(st.integers(2, 9))
    rows = [
        Line(size, draw(st.floats(0.5, 1e6)), ranks, wrong=draw(st.sampled_from(["0", "3", "N/A", "1e+06"])))
        for size in sorted(draw(SIZES))
    ]
    return Sheet(
        rows,
        age=draw(st.sampled_from(["now", "old", "blank"])),
        ranks=ranks,
        rank_lines=draw(st.booleans()),
        footers=draw(st.integers(0, 2)),
        prefix=draw(st.sampled_from(["", "0: ", "[1,0]<stdout>:", "[3] "])),
        extra_columns=draw(st.booleans()),
    )


@settings(max_examples=60, deadline=None)
@given(sheets())
def test_any_table_we_can_print_reads_back(sheet: Sheet) -> None:
    check(sheet.text(), sheet)
    wrong = [row.out_of_place.wrong for row in table.parse(sheet.text()).rows]
    assert wrong == [None if row.wrong == "N/A" else float(row.wrong) for row in sheet.rows]


WORDS = st.sampled_from(
    [
        "#",
        "8",
        "1048576",
        "float",
        "sum",
        "-1",
        "0.06",
        "nan",
        "inf",
        "N/A",
        "1e999",
        "Rank",
        "on",
        "device",
        "[0]",
        "...",
        "0:",
        "time",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400) | st.lists(WORDS | st.just("\n"), max_size=80).map(" ".join))
def test_garbage_is_read_without_a_crash(text: str) -> None:
    parsed = table.parse(text)
    assert parsed.footers == 0 or "Out of bounds" in text
