"""Ring 4, AWS: the components of a training cluster on EKS, each usable alone, and the stack that composes them."""

from gpufabric.aws.eks_cluster import EksCluster
from gpufabric.aws.fsx_lustre import FsxLustre
from gpufabric.aws.network import AwsNetwork
from gpufabric.aws.node_group import EksGpuNodeGroup
from gpufabric.aws.s3_bucket import S3Bucket
from gpufabric.aws.stack import AwsTrainingStack

__all__ = ["AwsNetwork", "AwsTrainingStack", "EksCluster", "EksGpuNodeGroup", "FsxLustre", "S3Bucket"]
