"""Ring 4, AWS: the components of a training cluster on EKS, each usable alone."""

from gpufabric.aws.eks_cluster import EksCluster
from gpufabric.aws.fsx_lustre import FsxLustre
from gpufabric.aws.network import AwsNetwork
from gpufabric.aws.s3_bucket import S3Bucket

__all__ = ["AwsNetwork", "EksCluster", "FsxLustre", "S3Bucket"]
