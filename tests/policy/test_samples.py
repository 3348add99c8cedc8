"""The pack over every sample stack: what we declare ourselves keeps our rules."""

from functools import cache
from pathlib import Path

import pytest

import gpufabric.preflight
from gpufabric.policy import RULES, Stack
from gpufabric.policy.judge import Result, over
from tests.aws import test_goldens as aws
from tests.gcp import test_goldens as gcp
from tests.kubernetes.stack_plans import declare, samples
from tests.policy.seen import stack_of

KUBERNETES = samples("kubernetes")
every_sample = pytest.mark.parametrize(
    "sample", [*aws.SAMPLES, *gcp.SAMPLES, *KUBERNETES], ids=lambda path: path.name.split(".")[1]
)


@cache
def results(sample: Path) -> list[Result]:
    """What the rules say of a sample."""
    if sample in aws.SAMPLES:
        stack = stack_of(aws.recorded(sample))
    elif sample in gcp.SAMPLES:
        stack = stack_of(gcp.recorded(sample))
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gpufabric.preflight, "preflight_kubernetes", lambda plan: None)
            stack = stack_of(declare(sample))
    alone, together = ([each for each in RULES if each.needs_stack is needs] for needs in (False, True))
    resources = list(stack.by_urn.values())
    return [*over(alone, resources, Stack(), {}), *over(together, resources, stack, {})]


@every_sample
def test_no_sample_breaks_a_mandatory_rule(sample: Path) -> None:
    broken = [(each.rule.name, each.resource.name, each.faults) for each in results(sample) if each.rule.prod == "mandatory"]
    assert [each for each in broken if each[2]] == []
