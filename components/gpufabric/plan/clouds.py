"""The plan of a stack of any cloud, and its words. A cloud's room is imported only where a stack of it is asked for."""

from collections.abc import Iterator
from datetime import UTC, datetime

from gpufabric.plan.cloud_model import CloudStackPlan
from gpufabric.plan.explain import Line
from gpufabric.plan.model import GroupsPlan
from gpufabric.plan.resolve import resolve
from gpufabric.spec import AnyTrainingSpec, TrainingSpec


def resolve_any(spec: AnyTrainingSpec, stack: str, *, now: datetime | None = None) -> GroupsPlan:
    """The plan of ``spec``; raises SpecError with all its problems. ``now``: the time, for windows of capacity; default now."""
    if isinstance(spec, TrainingSpec):
        return resolve(spec, stack)
    now = now or datetime.now(UTC)
    if spec.cloud == "gcp":
        from gpufabric.plan.gcp import resolve_gcp

        return resolve_gcp(spec, stack, now=now)
    from gpufabric.plan.aws import resolve_aws

    return resolve_aws(spec, stack, now=now)


def explain_any(plan: GroupsPlan) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """What the plan of a cloud's stack builds, and why."""
    if isinstance(plan, CloudStackPlan) and plan.cloud == "gcp":
        from gpufabric.plan.gcp.explain import explain_gcp

        yield from explain_gcp(plan)
        return
    from gpufabric.plan.aws.explain import explain_aws

    yield from explain_aws(plan)
