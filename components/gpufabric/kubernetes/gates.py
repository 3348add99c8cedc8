"""The gates of a stack whose groups a cloud made: one for each group, after its nodes and what runs on them."""

from collections.abc import Iterable, Sequence

from pulumi import ProviderResource, Resource, ResourceOptions

from gpufabric.kubernetes.args import NcclValidationArgs, NodeGroupArgs, ValidationArgs
from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.plan.model import GroupPlan


def inside_cluster(parent: Resource, provider: ProviderResource, cluster: Resource, *, existing: bool) -> ResourceOptions:
    """Options of what lives in a cluster: after the cluster; what is inside a cluster of our own goes when that goes."""
    deleted_with = None if existing else cluster
    return ResourceOptions(parent=parent, providers=[provider], depends_on=[cluster], deleted_with=deleted_with)


def declare_gates(
    name: str,
    groups: Iterable[tuple[GroupPlan, NodeGroupArgs, Resource]],
    validation: ValidationArgs,
    inside: ResourceOptions,
    after: Sequence[Resource],
) -> dict[str, NcclValidation]:
    """The gates by the groups' names. ``groups``: plan, args of the gate's group, and the component that makes the nodes.

    ``after``: device plugins and the like, which a gate waits for as it does for the nodes.

    The plan decides about hold and waiting: a cloud's nodes are made with the hold's taint, some of them come late.
    """
    gates = {}
    for plan, gate_group, nodes in groups:
        of_gate: NcclValidationArgs = {
            "node_group": gate_group,
            "validation": {**validation, "hold": plan.gate.gate.hold, "wait": plan.gate.gate.wait_for_nodes},
        }
        full_name, options = f"{name}-{plan.name}", _after(inside, [nodes, *after])
        gates[plan.name] = NcclValidation(full_name, of_gate, options)
        if plan.keep:
            from gpufabric.kubernetes import fabric_gate  # its SDK modules only for those who keep the gate

            fabric_gate.FabricGate(full_name, {**of_gate}, _after(options, [gates[plan.name]]))
    return gates


def _after(options: ResourceOptions, these: Sequence[Resource]) -> ResourceOptions:
    return ResourceOptions.merge(options, ResourceOptions(depends_on=list(these)))
