"""AWS's ids and names, checked by shape: the cloud would say it after minutes."""

from typing import Annotated

from gpufabric.spec.base import matching

_HEX = r"([0-9a-f]{8}|[0-9a-f]{17})"
Region = Annotated[str, matching(r"[a-z]{2,3}(-[a-z]+){1,2}-[1-9]", "a region of AWS", "us-east-2")]
Zone = Annotated[str, matching(r"[a-z]{2,3}(-[a-z]+){1,2}-[1-9][a-z]", "the name of an availability zone", "us-east-2b")]
VpcId = Annotated[str, matching(f"vpc-{_HEX}", "the id of a VPC", "vpc-0123456789abcdef0")]
SubnetId = Annotated[str, matching(f"subnet-{_HEX}", "the id of a subnet", "subnet-0123456789abcdef0")]
SecurityGroupId = Annotated[str, matching(f"sg-{_HEX}", "the id of a security group", "sg-0123456789abcdef0")]
FileSystemId = Annotated[str, matching(f"fs-{_HEX}", "the id of a file system", "fs-0123456789abcdef0")]
ReservationId = Annotated[str, matching(f"cr-{_HEX}", "the id of a capacity reservation", "cr-0123456789abcdef0")]
PlacementGroupName = Annotated[str, matching(r"(?! )[ -~]{1,255}(?<! )", "the name of a placement group", "training")]
PrincipalArn = Annotated[
    str,
    matching(
        r"arn:aws(-[a-z]+)*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]{1,512}",
        "the ARN of an IAM role or user",
        "arn:aws:iam::123456789012:role/ml-platform",
    ),
]
RoleArn = Annotated[
    str,
    matching(
        r"arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}",
        "the ARN of an IAM role",
        "arn:aws:iam::123456789012:role/gpu-nodes",
    ),
]
# No dots, though S3 takes them: the certificate of a bucket's host name covers no name with one.
BucketName = Annotated[
    str,
    matching(
        r"(?!xn--|sthree-|amzn-s3-demo-)(?!.*(-s3alias|--ol-s3|--x-s3|--table-s3)$)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]",
        "the name of a bucket (3 to 63 of a-z, 0-9 and -)",
        "acme-weights",
    ),
]
