"""A node group of a cluster of one's own: no machine is created, the group yields the pod profile of its jobs."""

from collections.abc import Mapping
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions

from gpufabric.kubernetes.args import NodeGroupArgs
from gpufabric.plan import PodProfile, resolve_profile
from gpufabric.spec import NodeGroupSpec


class KubernetesNodeGroup(ComponentResource):
    """Nodes that exist, selected by their labels.

    Creates nothing in the cluster. ``pod_profile.apply_to(job_spec)`` gives a job the fabric and binds it to nodes that
    passed their gate; give the job ``depends_on=[gate]`` so that it waits for the verdict. With ``scheduler`` it puts jobs
    into the queue of the group's :class:`JobQueue`, which waits for the verdict itself.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    profile: Output[Mapping[str, Any]]
    """The pod profile as plain data, for stack outputs and other languages."""

    def __init__(self, name: str, args: NodeGroupArgs, opts: ResourceOptions | None = None) -> None:
        self.pod_profile: PodProfile = resolve_profile(NodeGroupSpec.parse(args, name), name)
        super().__init__("gpufabric:index:KubernetesNodeGroup", name, {}, opts)
        self.profile = Output.from_input(self.pod_profile.to_dict())
        self.register_outputs({"profile": self.profile})
