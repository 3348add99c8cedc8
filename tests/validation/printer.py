"""Prints outputs in the grammar of nccl-tests, of several ages, from numbers: the fixtures of the parser's tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpufabric.validation.collectives import FACTORS


@dataclass(frozen=True)
class Line:
    """What one row says; the in-place side repeats the out-of-place side unless told otherwise."""

    size: int
    time_us: float
    ranks: int = 2
    collective: str = "all_reduce"
    wrong: str = "0"
    wrong_in_place: str | None = None
    busbw_times: float = 1.0

    @property
    def algbw(self) -> float:
        return self.size / self.time_us / 1e3

    @property
    def busbw(self) -> float:
        return self.algbw * FACTORS[self.collective](self.ranks) * self.busbw_times

    def side(self, wrong: str) -> str:
        return f"{self.time_us:>9.2f} {self.algbw:>8.4f} {self.busbw:>8.4f} {wrong:>6}"


@dataclass(frozen=True)
class Sheet:
    """One output. `age`: "old" (before 2.13: 12 tokens, `error`), "blank" (old without redop: 11), "now" (13 tokens)."""

    rows: Sequence[Line]
    age: str = "now"
    ranks: int = 2
    rank_lines: bool = True
    collective: str = "all_reduce"
    start_line: bool = True
    bounds: str = "0 OK"
    average: str = "0.12"
    footers: int = 1
    prefix: str = ""
    before_rows: Sequence[str] = ()
    row_end: str = ""
    extra_columns: bool = False
    unit: str = "(us)"
    elided: bool = False
    tail: Sequence[str] = field(default=())

    def text(self) -> str:
        out: list[str] = []
        if self.start_line:
            out.append(f"# Collective test starting: {self.collective}_perf")
        low, high = (self.rows[0].size, self.rows[-1].size) if self.rows else (8, 8)
        out.append(
            f"# nThread 1 nGpus 1 minBytes {low} maxBytes {high} step: 4(factor) warmup iters: 5 iters: 20 validation: 1"
        )
        if self.rank_lines:
            out.append("# Using devices")
            group = "" if self.age != "now" else "Group  0 "
            out += [
                f"#  Rank {rank:>2} {group}Pid {4000 + rank} on    node-{rank} device  0 [0x1b] GPU"
                for rank in range(self.ranks)
            ]
        root = "    root" if self.age == "now" else ""
        wrong = "#wrong" if self.age == "now" else " error"
        side = f"     time   algbw   busbw {wrong}" + ("     min     max     p99      cv" if self.extra_columns else "")
        out += ["#", f"#       size         count      type   redop{root}{side}{side}"]
        out.append(
            f"#        (B)    (elements)                       {self.unit}  (GB/s)  (GB/s)       {self.unit}  (GB/s)  (GB/s)"
        )
        out += self.before_rows
        for row in self.rows:
            left = {"now": "sum      -1", "old": "sum", "blank": ""}[self.age]
            more = "   10.00   20.00   19.00    3.10" if self.extra_columns else ""
            in_place = row.side(row.wrong if row.wrong_in_place is None else row.wrong_in_place)
            columns = f"{row.side(row.wrong)}{more} {in_place}{more}{self.row_end}"
            out.append(f" {row.size:>12} {row.size // 4:>12} float {left:>10} {columns}")
        if self.elided:
            out.insert(len(out) - 1, "...")
        for _ in range(self.footers):
            out += [f"# Out of bounds values : {self.bounds}", f"# Avg bus bandwidth    : {self.average} ", "#"]
        out += self.tail
        return "".join(f"{self.prefix}{line}\n" for line in out)


def healthy(ranks: int = 2, collective: str = "all_reduce", busbw: float = 0.06, largest: int = 1 << 24) -> Sheet:
    """1 KiB to `largest` by four, every row at the given busbw."""
    sizes = [size for power in range(10, 40, 2) if (size := 1 << power) <= largest]
    factor = FACTORS[collective](ranks)
    rows = [Line(size, size * factor / busbw / 1e3, ranks, collective) for size in sizes]
    return Sheet(rows, ranks=ranks, collective=collective)


def last_row(sheet: Sheet, **changes: object) -> Sheet:
    """The sheet with its largest row changed."""
    return replace(sheet, rows=[*sheet.rows[:-1], replace(sheet.rows[-1], **changes)])  # type: ignore[arg-type]
