"""What AWS would add to a resource: outputs that components read, for programs that run without an engine."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.kubernetes.mocked import Recording, run

AUTHORITY = "Y2VydGlmaWNhdGU="
CLUSTER: Mapping[str, Any] = {
    "arn": "arn:aws:eks:us-east-2:123456789012:cluster/training",
    "endpoint": "https://training.example.eks.amazonaws.com",
    "certificateAuthority": {"data": AUTHORITY},
    "identities": [{"oidcs": [{"issuer": "https://oidc.example/id/1"}]}],
    "vpcConfig": {"clusterSecurityGroupId": "sg-00000000000000c1c"},
}
COMPUTED: Mapping[str, Mapping[str, Any]] = {
    "aws:eks/cluster:Cluster": CLUSTER,
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 3},
    "aws:iam/role:Role": {"arn": "arn:aws:iam::123456789012:role/made", "name": "made"},
    "aws:kms/key:Key": {"arn": "arn:aws:kms:us-east-2:123456789012:key/made"},
    "aws:s3/bucket:Bucket": {"arn": "arn:aws:s3:::made"},
    "aws:ec2/placementGroup:PlacementGroup": {"name": "made"},
    "aws:eks/nodeGroup:NodeGroup": {"nodeGroupName": "made", "resources": [{"autoscalingGroups": [{"name": "eks-made"}]}]},
    "aws:fsx/lustreFileSystem:LustreFileSystem": {"dnsName": "fs-1.fsx.us-east-2.amazonaws.com", "mountName": "abcdefgh"},
    "kubernetes:core/v1:PersistentVolume": {"metadata": {"name": "volume-1"}},
}
EXISTING: Mapping[str, Mapping[str, Any]] = {
    "shared-cluster": {**CLUSTER, "name": "shared-cluster"},
    "acme-data": {"bucket": "acme-data", "arn": "arn:aws:s3:::acme-data"},
    "fs-0123456789abcdef0": {"storageCapacity": 4800, "dnsName": "fs-0.fsx.example", "mountName": "hgfedcba"},
}


def run_on_aws(program: Callable[[], object], **how: Any) -> Recording:
    """Run a program in a cloud that has :data:`EXISTING` and adds :data:`COMPUTED`."""
    return run(program, computed=COMPUTED, cluster=EXISTING, **how)
