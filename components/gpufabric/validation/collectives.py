"""What each collective's numbers mean: busbw = algbw x factor(n), and which sizes a sweep prints.

Source: nccl-tests doc/PERFORMANCE.md; sizes: all_gather.cu and reduce_scatter.cu round to whole 16 bytes per rank.
"""

from collections.abc import Callable, Mapping
from typing import Final


def _ring_twice(n: int) -> float:
    return 2 * (n - 1) / n


def _ring_once(n: int) -> float:
    return (n - 1) / n


def _one(_: int) -> float:
    return 1.0


FACTORS: Final[Mapping[str, Callable[[int], float]]] = {
    "all_reduce": _ring_twice,
    "all_gather": _ring_once,
    "reduce_scatter": _ring_once,
    "alltoall": _ring_once,
    "alltoallv": _ring_once,
    "gather": _ring_once,
    "scatter": _ring_once,
    "broadcast": _one,
    "reduce": _one,
    "sendrecv": _one,
}
"""hypercube has a formula of its own in code and is not judged."""

_ROUNDED: Final = ("all_gather", "reduce_scatter")


def requested_sizes(min_bytes: int, max_bytes: int, factor: int) -> list[int]:
    """The sizes of a sweep `-b min -e max -f factor`, ascending; the last one is the largest that is run."""
    sizes = [min_bytes]
    while sizes[-1] * factor <= max_bytes and factor > 1:
        sizes.append(sizes[-1] * factor)
    return sizes


def printed_size(collective: str, size_bytes: int, ranks: int) -> int:
    """What the size column shows for a requested size."""
    if collective in _ROUNDED:
        return size_bytes - size_bytes % (16 * ranks)
    return size_bytes


def possible_ranks(collective: str, ratio_low: float, ratio_high: float) -> range:
    """Numbers of ranks whose factor lies between the two ratios busbw/algbw; empty where a ratio tells nothing or none fits."""
    factor = FACTORS.get(collective)
    if factor is None or factor is _one:
        return range(0)
    scale = 2.0 if factor is _ring_twice else 1.0

    def ranks(ratio: float) -> float:  # f = scale (n-1)/n  <=>  n = scale / (scale - f)
        return scale / (scale - ratio) if ratio < scale else float(_MANY)

    low, high = max(1.0, ranks(max(0.0, ratio_low))), min(float(_MANY), ranks(ratio_high))
    first = int(low) if int(low) == low else int(low) + 1
    return range(first, int(high) + 1)


_MANY: Final = 1 << 20
