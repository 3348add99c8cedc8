"""What the stacks of all clouds do alike once cluster, nodes and stores are declared: gates, mounts, what is told of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import Output, ProviderResource, Resource, ResourceOptions

from gpufabric.kubernetes.args import ValidationArgs
from gpufabric.kubernetes.gates import declare_gates, inside_cluster
from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.kubernetes.role_mounts import declare_mounts
from gpufabric.plan import PodProfile
from gpufabric.plan.cloud_group import gate_group
from gpufabric.plan.cloud_model import CloudStackPlan
from gpufabric.plan.storage.stack import bucket_accounts, bucket_readers


@dataclass(frozen=True, slots=True)
class Inside:
    """What a stack has in its cluster. ``outputs``: of the component, under their names."""

    gates: Mapping[str, NcclValidation]
    mounts: Mapping[str, Resource]
    profiles: Mapping[str, PodProfile]
    pod_profiles: Output[Mapping[str, Any]]
    validation: Output[Mapping[str, Any]]
    cost: Output[Mapping[str, Any]]
    outputs: Mapping[str, Any]


def declare_inside(
    parent: Resource,
    name: str,
    plan: CloudStackPlan,
    validation: ValidationArgs,
    *,
    cluster: Any,
    existing: bool,
    provider: ProviderResource,
    groups: Mapping[str, Any],
    stores: Mapping[str, Resource],
    fabric: Callable[[ResourceOptions], Sequence[Resource]],
    drivers: Sequence[Resource] = (),
) -> Inside:
    """Declare what comes after the nodes. ``cluster`` and ``groups`` are the cloud's components, by the groups' names.

    ``existing``: the cluster was there before, and outlives the stack. ``fabric`` makes what the fabric needs on the nodes.
    ``drivers``: what has to be in the cluster for a bucket by the cloud's own driver.
    """
    inside = inside_cluster(parent, provider, cluster, existing=existing)
    made = zip(plan.groups, groups.values(), strict=True)
    gated = [(gate, group.gate_group, group) for gate, group in made]
    gates = declare_gates(name, gated, validation, inside, fabric(inside))
    for gate, group in zip(plan.groups, plan.node_groups, strict=True):
        if gate.queue:
            from gpufabric.kubernetes.job_queue import JobQueue  # its SDK module only for those who want a queue

            queued: Any = {"node_group": gate_group(group).model_dump(exclude_none=True)}
            JobQueue(f"{name}-{gate.name}", queued, inside)
    beside = ResourceOptions(parent=parent, providers=[provider], depends_on=[cluster])
    claims = ResourceOptions.merge(inside, ResourceOptions(depends_on=list(drivers)))
    mounts = declare_mounts(name, plan.storage, stores, groups, beside, claims=claims)
    profiles = {group.name: group.profile for group in plan.groups}
    pod_profiles = Output.from_input({key: profile.to_dict() for key, profile in profiles.items()})
    verdicts = Output.all(**{key: gate.verdict for key, gate in gates.items()})
    cost = Output.from_input(plan.cost.to_dict())
    outputs = {"kubeconfig": cluster.kubeconfig, "pod_profiles": pod_profiles, "validation": verdicts, "cost": cost}
    return Inside(gates, mounts, profiles, pod_profiles, verdicts, cost, outputs)


def accounts_of(plan: CloudStackPlan, store: str) -> dict[str, Any]:
    """Args of a bucket: who reaches it are the mounts of the roles that it holds, or the jobs themselves."""
    found = {"service_accounts": bucket_accounts(plan.storage), "readers": bucket_readers(plan.storage)}
    return {key: accounts[store] for key, accounts in found.items() if store in accounts}
