"""The Pulumi program: reads ``gpufabric:stack``, looks at what exists, declares the stack of that cloud."""

from typing import TYPE_CHECKING, Any

import pulumi

from gpufabric.plan import resolve
from gpufabric.preflight import preflight_kubernetes
from gpufabric.spec import CONFIG_KEY, SpecError, TrainingSpec, parse_spec

if TYPE_CHECKING:
    from gpufabric.spec.aws import AwsTrainingSpec
    from gpufabric.spec.gcp import GcpTrainingSpec


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
            declare_gcp(spec, raw)
    except SpecError as error:
        raise pulumi.RunError(f"nothing was changed; to fix:\n{error.below(CONFIG_KEY)}") from None


def declare_kubernetes(spec: TrainingSpec, raw: dict[str, object]) -> None:
    """A cluster of one's own. The cloud's SDK is imported here, so that a program loads only the one it uses."""
    plan = resolve(spec, pulumi.get_stack())
    preflight_kubernetes(plan)
    from pulumi_kubernetes import Provider

    from gpufabric.kubernetes import KubernetesTrainingStack

    existing = spec.cluster.existing
    cluster = Provider("cluster", kubeconfig=existing.kubeconfig, context=existing.context)
    args: Any = {key: value for key, value in args_of(raw).items() if key != "cluster"}
    stack = KubernetesTrainingStack(plan.stack, args, pulumi.ResourceOptions(providers=[cluster]))
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
    export(AwsTrainingStack(plan.stack, args_of(raw), pulumi.ResourceOptions(providers=[account])))


def declare_gcp(spec: "GcpTrainingSpec", raw: dict[str, object]) -> None:
    """A whole cluster on Google Cloud, in the project of the spec, whatever project the environment names."""
    from pulumi_gcp import Provider

    from gpufabric.gcp import GcpTrainingStack
    from gpufabric.kubernetes import clock
    from gpufabric.plan.gcp import resolve_gcp

    plan = resolve_gcp(spec, pulumi.get_stack(), now=clock.now())
    account = Provider("account", project=spec.project, region=spec.region, zone=spec.zone)
    export(GcpTrainingStack(plan.stack, args_of(raw), pulumi.ResourceOptions(providers=[account])))


def args_of(raw: dict[str, object]) -> Any:
    """The config as a cloud's stack takes it: its class says which cloud."""
    return {key: value for key, value in raw.items() if key not in ("cloud", "orchestrator")}


def export(stack: Any) -> None:
    """The outputs that the stack of every cloud has."""
    for key in ("kubeconfig", "pod_profiles", "validation", "cost"):
        pulumi.export(key, getattr(stack, key))


main()
