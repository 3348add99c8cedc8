"""Sizes that are sold in steps."""


def nearest_in(size: int, first: int, step: int, most: int) -> tuple[int, ...]:
    """``size`` if it is ``first`` plus whole steps, else the nearest such below (if there is one) and above (likewise)."""
    if size < first:
        return (first,)
    below = min(first + (size - first) // step * step, first + (most - first) // step * step)
    if below == size or below + step > most:
        return (below,)
    return (below, below + step)
