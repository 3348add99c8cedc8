"""Ring 4, AWS: the components of a training cluster on EKS, each usable alone, and the stack that composes them."""

from typing import TYPE_CHECKING

from gpufabric.aws.eks_cluster import EksCluster
from gpufabric.aws.network import AwsNetwork
from gpufabric.aws.node_group import EksGpuNodeGroup
from gpufabric.aws.stack import AwsTrainingStack
from gpufabric.kubernetes.later import later

if TYPE_CHECKING:
    from gpufabric.aws.fsx_lustre import FsxLustre
    from gpufabric.aws.mountpoint_driver import MountpointDriver
    from gpufabric.aws.s3_bucket import S3Bucket

__all__ = ["AwsNetwork", "AwsTrainingStack", "EksCluster", "EksGpuNodeGroup", "FsxLustre", "MountpointDriver", "S3Bucket"]

# Its modules of the SDK cost a third of a second more.
__getattr__ = later(__name__, {"FsxLustre": "fsx_lustre", "MountpointDriver": "mountpoint_driver", "S3Bucket": "s3_bucket"})
