"""The parts of a parsed output. Sizes in bytes, bandwidths in 1e9 bytes per second."""

from dataclasses import dataclass

from gpufabric.validation.lines import Row


@dataclass(frozen=True)
class Rank:
    """A rank line. `host` is what the process calls its host: in a pod the pod's name, so it does not count distinct nodes."""

    rank: int
    host: str
    device: int
    group: int | None = None
    pid: int | None = None


@dataclass(frozen=True)
class OutOfBounds:
    """Footer `# Out of bounds values : COUNT STATUS`; status is OK, FAILED or empty (cut off)."""

    count: float
    status: str


@dataclass(frozen=True)
class Table:
    """Everything recognised in one output.

    `ranks_cut`: the rank list is known to be incomplete (nccl-tests cuts it at 2048 bytes per process). `min_bytes`,
    `max_bytes`: of the first run line; `runs` counts run lines. `reduced_max_bytes`: the benchmark shrank the sweep for
    want of memory. `elided`: a line `...` stands for something taken out. `wrong_is_count`: False for the old `error`
    column (a deviation). `transport`: lines about the network in use, each wording once. `last_words`: the last line that
    belongs to no table, for a reader who asks why the benchmark ended. `averages` are kept to count footers, never to judge.
    """

    rows: tuple[Row, ...] = ()
    ranks: tuple[Rank, ...] = ()
    ranks_cut: bool = False
    collective: str | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    reduced_max_bytes: int | None = None
    out_of_bounds: tuple[OutOfBounds, ...] = ()
    averages: tuple[float, ...] = ()
    runs: int = 0
    wrong_is_count: bool = True
    elided: bool = False
    transport: tuple[str, ...] = ()
    last_words: str = ""
    errors: tuple[str, ...] = ()

    @property
    def footers(self) -> int:
        """Number of complete footers: both lines, the larger count where they differ (one of each is one footer)."""
        if not self.out_of_bounds or not self.averages:
            return 0
        return max(len(self.out_of_bounds), len(self.averages))
