"""The plan of a stack of any cloud. A cloud's decisions are imported only where a stack of it is asked for."""

from datetime import UTC, datetime

from gpufabric.plan.model import GroupsPlan
from gpufabric.plan.resolve import resolve
from gpufabric.spec import AnyTrainingSpec, TrainingSpec


def resolve_any(spec: AnyTrainingSpec, stack: str, *, now: datetime | None = None) -> GroupsPlan:
    """The plan of ``spec``; raises SpecError with all its problems. ``now``: the time, for windows of capacity; default now."""
    if isinstance(spec, TrainingSpec):
        return resolve(spec, stack)
    from gpufabric.plan.aws import resolve_aws

    return resolve_aws(spec, stack, now=now or datetime.now(UTC))
