"""A node group of a cluster of one's own: no machine is created, the group yields the pod profile of its jobs."""

from collections.abc import Mapping
from typing import Any

from pulumi import ComponentResource, Output, ResourceOptions

from gpufabric.kubernetes.args import NodeGroupArgs
from gpufabric.plan import PodProfile, decide_hardware, pod_profile
from gpufabric.spec import NodeGroupSpec


class KubernetesNodeGroup(ComponentResource):
    """Nodes that exist, selected by their labels.

    Creates nothing in the cluster. ``pod_profile.apply_to(job_spec)`` gives a job the fabric and binds it to nodes that
    passed their gate; give the job ``depends_on=[gate]`` so that it waits for the verdict.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    profile: Output[Mapping[str, Any]]
    """The pod profile as plain data, for stack outputs and other languages."""

    def __init__(self, name: str, args: NodeGroupArgs, opts: ResourceOptions | None = None) -> None:
        group = NodeGroupSpec.parse(args, name)
        self.pod_profile: PodProfile = pod_profile(group, *decide_hardware(group, name))
        super().__init__("gpufabric:index:KubernetesNodeGroup", name, {}, opts)
        self.profile = Output.from_input(self.pod_profile.to_dict())
        self.register_outputs({"profile": self.profile})
