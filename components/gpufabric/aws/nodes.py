"""What the roles and root volumes of all nodes and clusters share."""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import ResourceOptions
from pulumi_aws import iam

from gpufabric.plan.aws.policies import managed_policy

NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Join the cluster and pull images, no more: the CNI's permissions come to its pods by pod identity."""
_ROOT_DEVICE = "/dev/xvda"


def managed_role(
    name: str, trusted: str, policies: Sequence[str], *, region: str, tags: Mapping[str, str] | None, opts: ResourceOptions
) -> tuple[iam.Role, list[iam.RolePolicyAttachment]]:
    """A role of AWS's own policies; what uses it waits for the attachments, which its ARN alone would not make it do."""
    role = iam.Role(name, assume_role_policy=trusted, tags=tags, opts=opts)
    attached = [
        iam.RolePolicyAttachment(f"{name}-{policy}", role=role.name, policy_arn=managed_policy(policy, region), opts=opts)
        for policy in policies
    ]
    return role, attached


def encrypted_root(size_gib: int) -> list[dict[str, Any]]:
    """The block devices of a launch template: one encrypted root volume. AWS's SDK takes its switches as texts."""
    volume = {"volume_size": size_gib, "volume_type": "gp3", "encrypted": "true", "delete_on_termination": "true"}
    return [{"device_name": _ROOT_DEVICE, "ebs": volume}]
