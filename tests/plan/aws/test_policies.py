"""Names of partitions and services, where China and GovCloud differ."""

import json

import pytest

from gpufabric.plan.aws.policies import managed_policy, trust
from gpufabric.plan.aws.regions import partition_of, region_of


@pytest.mark.parametrize(
    ("zone", "region", "partition", "ec2"),
    [
        ("us-east-2b", "us-east-2", "aws", "ec2.amazonaws.com"),
        ("cn-north-1a", "cn-north-1", "aws-cn", "ec2.amazonaws.com.cn"),
        ("us-gov-west-1c", "us-gov-west-1", "aws-us-gov", "ec2.amazonaws.com"),
    ],
)
def test_every_world_has_its_names(zone: str, region: str, partition: str, ec2: str) -> None:
    assert region_of(zone) == region
    assert partition_of(region) == partition
    assert managed_policy("AmazonEKSClusterPolicy", region) == f"arn:{partition}:iam::aws:policy/AmazonEKSClusterPolicy"
    (statement,) = json.loads(trust("ec2", region))["Statement"]
    assert statement == {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": ec2}}
    (statement,) = json.loads(trust("eks", region))["Statement"]
    assert statement["Principal"] == {"Service": "eks.amazonaws.com"}
