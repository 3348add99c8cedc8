"""The template that claims of pods are made from, in a namespace of ours; a job's namespace needs one of its own."""

from typing import Any

from pulumi import ResourceOptions

from gpufabric.plan.profile import PodClaim


def claim_templates(name: str, claim: PodClaim | None, namespace: str, opts: ResourceOptions) -> list[Any]:
    """The template, where pods claim devices; else nothing, and no module of the SDK is imported for it."""
    if claim is None:
        return []
    from pulumi_kubernetes.resource.v1 import ResourceClaimTemplate

    metadata = {"name": claim.template, "namespace": namespace, "labels": {"app.kubernetes.io/managed-by": "pulumi"}}
    return [ResourceClaimTemplate(f"{name}-claim", metadata=metadata, spec=claim.template_spec, opts=opts)]
