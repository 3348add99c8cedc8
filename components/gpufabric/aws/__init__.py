"""Ring 4, AWS: the components of a training cluster on EKS, each usable alone, and the stack that composes them."""

from typing import TYPE_CHECKING, Any

from gpufabric.aws.eks_cluster import EksCluster
from gpufabric.aws.network import AwsNetwork
from gpufabric.aws.node_group import EksGpuNodeGroup
from gpufabric.aws.stack import AwsTrainingStack

if TYPE_CHECKING:
    from gpufabric.aws.fsx_lustre import FsxLustre
    from gpufabric.aws.s3_bucket import S3Bucket

__all__ = ["AwsNetwork", "AwsTrainingStack", "EksCluster", "EksGpuNodeGroup", "FsxLustre", "S3Bucket"]


def __getattr__(name: str) -> Any:
    """Storage is imported when it is asked for: its modules of the SDK cost a third of a second more."""
    if name == "FsxLustre":
        from gpufabric.aws.fsx_lustre import FsxLustre

        return FsxLustre
    if name == "S3Bucket":
        from gpufabric.aws.s3_bucket import S3Bucket

        return S3Bucket
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
