"""What AWS said of a capacity block, put into the wish: its window, or why the wish contradicts it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from gpufabric.plan.aws.reservation import Reservation
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import AwsCapacitySpec, AwsTrainingSpec
from gpufabric.spec.cloud import instant

NOTHING: Final[Mapping[int, Reservation]] = {}


def to_look_up(spec: AwsTrainingSpec) -> dict[int, str]:
    """Ids of the blocks to ask for, by the group's position."""
    return {position: group.capacity.id for position, group in enumerate(spec.node_groups) if wants(group.capacity)}  # type: ignore[misc]


def wants(wish: AwsCapacitySpec) -> bool:
    """Whether a group's capacity is to be looked up; what cannot be is refused by its plan."""
    return wish.lookup and wish.kind == "capacity_block" and wish.id is not None


def with_window(wish: AwsCapacitySpec, found: Reservation, path: str) -> AwsCapacitySpec:
    """The wish with the block's own window; raises :class:`SpecError` where the wish says another one."""
    problems, window = [], {}
    for key, theirs in (("starts_at", found.starts_at), ("ends_at", found.ends_at)):
        ours = getattr(wish, key)
        if theirs is None:
            continue
        window[key] = written(theirs)
        if ours is not None and instant(ours) != theirs:
            reason = f"{found.id} {'begins' if key == 'starts_at' else 'ends'} at {window[key]}, not at {ours}"
            problems.append(Problem(f"{path}.{key}", reason, "leave it out: it is looked up"))
    if problems:
        raise SpecError(problems)
    return wish.model_copy(update={**window, "lookup": False})


def written(at: datetime) -> str:
    """A time as the spec writes it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
