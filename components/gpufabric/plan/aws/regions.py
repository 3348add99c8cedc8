"""What follows from the name of a zone or region."""

from gpufabric.spec import Problem


def region_of(zone: str) -> str:
    """``us-east-2`` for ``us-east-2b``. Only of availability zones: local zones are named otherwise."""
    return zone[:-1]


def partition_of(region: str) -> str:
    """The partition, part of every ARN: China and GovCloud are worlds of their own."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def foreign_arn(arn: str, region: str, path: str) -> Problem | None:
    """The problem of an ARN of another world than the region's, where it is unknown."""
    world = partition_of(region)
    if arn.split(":")[1] == world:
        return None
    return Problem(path, f"{arn} is not of {world}, where {region} is", f"write an ARN that begins with arn:{world}:")


def service_principal(service: str, region: str) -> str:
    """The principal of an AWS service that takes a role; EC2's is China's own there."""
    suffix = "amazonaws.com.cn" if partition_of(region) == "aws-cn" and service == "ec2" else "amazonaws.com"
    return f"{service}.{suffix}"
