"""The Pulumi program: reads ``gpufabric:stack``, looks at what exists, declares the stack of that cloud."""

from typing import TYPE_CHECKING, NoReturn

import pulumi

from gpufabric.plan import resolve
from gpufabric.preflight import preflight_kubernetes
from gpufabric.spec import CONFIG_KEY, Problem, SpecError, TrainingSpec, parse_spec

if TYPE_CHECKING:
    from gpufabric.spec.aws import AwsTrainingSpec


def main() -> None:
    """Declare the stack, or end with every problem of its config and nothing registered."""
    raw = pulumi.Config("gpufabric").require_object("stack")
    try:
        spec = parse_spec(raw)
        if isinstance(spec, TrainingSpec):
            declare_kubernetes(spec, raw)
        elif spec.cloud == "aws":
            declare_aws(spec, raw)
        else:
            refuse(spec.cloud)
    except SpecError as error:
        raise pulumi.RunError(f"nothing was changed; to fix:\n{error.below(CONFIG_KEY)}") from None


def refuse(cloud: str) -> NoReturn:
    """A cloud whose plans are made and whose components are not."""
    raise SpecError([Problem("cloud", f"no program declares a stack of {cloud} yet", "gpufabric explain shows its plan")])


def declare_kubernetes(spec: TrainingSpec, raw: dict[str, object]) -> None:
    """A cluster of one's own. The cloud's SDK is imported here, so that a program loads only the one it uses."""
    plan = resolve(spec, pulumi.get_stack())
    preflight_kubernetes(plan)
    from pulumi_kubernetes import Provider

    from gpufabric.kubernetes import KubernetesTrainingStack

    existing = spec.cluster.existing
    cluster = Provider("cluster", kubeconfig=existing.kubeconfig, context=existing.context)
    args = {key: raw[key] for key in ("node_groups", "validation", "scheduler") if key in raw}
    stack = KubernetesTrainingStack(plan.stack, args, pulumi.ResourceOptions(providers=[cluster]))  # type: ignore[arg-type]
    pulumi.export("pod_profiles", stack.pod_profiles)
    pulumi.export("validation", stack.validation)


def declare_aws(spec: "AwsTrainingSpec", raw: dict[str, object]) -> None:
    """A whole cluster on AWS, in the region of the spec, whatever region the environment names."""
    from pulumi_aws import Provider

    from gpufabric.aws import AwsTrainingStack
    from gpufabric.aws.lookup import look_up_groups
    from gpufabric.kubernetes import clock
    from gpufabric.plan.aws import resolve_aws

    stack_name, now = pulumi.get_stack(), clock.now()
    plan = resolve_aws(spec, stack_name, now=now)
    account = Provider("account", region=spec.region)
    if found := look_up_groups(spec, pulumi.ResourceOptions(providers=[account])):
        resolve_aws(spec, stack_name, now=now, found=found)
    args = {key: value for key, value in raw.items() if key not in ("cloud", "orchestrator")}
    stack = AwsTrainingStack(plan.stack, args, pulumi.ResourceOptions(providers=[account]))  # type: ignore[arg-type]
    for key in ("kubeconfig", "pod_profiles", "validation", "cost"):
        pulumi.export(key, getattr(stack, key))


main()
