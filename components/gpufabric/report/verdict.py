"""A verdict as the page needs it. Sizes in bytes, bandwidths in 1e9 bytes/s, times in microseconds; None is not known."""

from dataclasses import dataclass

PASSING = ("pass", "good")


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a table row: out of place or in place."""

    time_us: float | None = None
    algbw_gbytes_per_s: float | None = None
    busbw_gbytes_per_s: float | None = None
    wrong: float | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """One row of the benchmark's table."""

    size_bytes: float | None
    out_of_place: Side
    in_place: Side


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes measured against each other."""

    round: int | None
    nodes: tuple[str, str]
    outcome: str
    busbw_gbytes_per_s: float | None

    @property
    def passed(self) -> bool:
        return self.outcome in PASSING


@dataclass(frozen=True, slots=True)
class Finding:
    """What was concluded, with the nodes that it names; none where nobody is singled out."""

    kind: str
    nodes: tuple[str, ...]
    busbw_gbytes_per_s: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Health:
    """One check of one node."""

    node: str
    what: str
    measured: str
    wanted: str
    severity: str
    fix: str


@dataclass(frozen=True, slots=True)
class InsideNode:
    """One node measured among its own ranks (stage 1)."""

    node: str
    outcome: str
    busbw_gbytes_per_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Inside:
    """Stage 1 of a group. No floor: complete and right sums count alone."""

    what: str
    size_bytes: float | None
    floor_busbw_gbytes_per_s: float | None
    floor_source: str
    nodes: tuple[InsideNode, ...]


@dataclass(frozen=True, slots=True)
class Also:
    """A second collective of the run. ``floor_busbw_gbytes_per_s`` None: no floor is known for it."""

    collective: str
    outcome: str
    busbw_gbytes_per_s: float | None
    floor_busbw_gbytes_per_s: float | None
    floor_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One gate run. ``healthy_busbw_gbytes_per_s``: lowest and highest of healthy clusters at ``size_bytes``."""

    group: str
    outcome: str
    reason: str = ""
    fix: str = ""
    stack: str = ""
    nodes: tuple[str, ...] = ()
    backend: str = ""
    collective: str = ""
    ranks: float | None = None
    size_bytes: float | None = None
    busbw_gbytes_per_s: float | None = None
    algbw_gbytes_per_s: float | None = None
    latency_us: float | None = None
    floor_busbw_gbytes_per_s: float | None = None
    floor_source: str = ""
    healthy_busbw_gbytes_per_s: tuple[float, float] | None = None
    also: tuple[Also, ...] = ()
    table: tuple[Size, ...] = ()
    pairs: tuple[Pair, ...] = ()
    findings: tuple[Finding, ...] = ()
    health: tuple[Health, ...] = ()
    inside: Inside | None = None
    image: str = ""
    run: float | None = None
    fingerprint: str = ""
    stand_ins: tuple[str, ...] = ()
    started_at: str = ""
    finished_at: str = ""
