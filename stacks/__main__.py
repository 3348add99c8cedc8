"""The Pulumi program: reads ``gpufabric:stack``, looks at what exists, declares the stack of that cloud."""

import pulumi

from gpufabric.plan import resolve
from gpufabric.preflight import preflight_kubernetes
from gpufabric.spec import CONFIG_KEY, SpecError, TrainingSpec, parse_spec


def main() -> None:
    """Declare the stack, or end with every problem of its config and nothing registered."""
    raw = pulumi.Config("gpufabric").require_object("stack")
    try:
        spec = parse_spec(raw)
        if isinstance(spec, TrainingSpec):
            declare_kubernetes(spec, raw)
        else:
            raise pulumi.RunError("cloud: aws can be checked and explained; the program does not declare it yet")
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
    args = {key: raw[key] for key in ("node_groups", "validation") if key in raw}
    stack = KubernetesTrainingStack(plan.stack, args, pulumi.ResourceOptions(providers=[cluster]))  # type: ignore[arg-type]
    pulumi.export("pod_profiles", stack.pod_profiles)
    pulumi.export("validation", stack.validation)


main()
