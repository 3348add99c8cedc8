"""What a user may ask for on AWS."""

from gpufabric.spec.aws.capacity import AwsCapacitySpec
from gpufabric.spec.aws.cluster import EksClusterSpec
from gpufabric.spec.aws.network import AwsNetworkSpec
from gpufabric.spec.aws.node_group import EksGpuNodesSpec, EksNodeGroupSpec
from gpufabric.spec.aws.storage import AwsFilesystemSpec, AwsStoreSpec
from gpufabric.spec.aws.training import AwsStackSpec, AwsTrainingSpec

__all__ = [
    "AwsCapacitySpec",
    "AwsFilesystemSpec",
    "AwsNetworkSpec",
    "AwsStackSpec",
    "AwsStoreSpec",
    "AwsTrainingSpec",
    "EksClusterSpec",
    "EksGpuNodesSpec",
    "EksNodeGroupSpec",
]
