"""How names and figures are written wherever the gate speaks."""

from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 16) -> str:
    """`n0, n1`; of a long list the first ones and how many there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])}, … ({len(names)} nodes)"


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def figure(value: float | None) -> str:
    """Three places, GB/s by their size: `0.0068`, `39.4`, `387`, `1204`; `?` where nothing was measured."""
    if value is None:
        return "?"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
