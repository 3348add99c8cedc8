"""What a sample names as existing, put into moto under the ids that the sample names."""

from collections.abc import Collection
from typing import Any
from unittest.mock import patch

from tools.awsprovider.emulator import ACCOUNT


def seed(declared: Collection[str], region: str) -> None:
    """VPCs and subnets; the subnets lie in the first VPC. Reservations are not looked for in an ``up``."""
    from moto.backends import get_backend

    network: Any = get_backend("ec2")[ACCOUNT][region]
    vpcs = sorted(name for name in declared if name.startswith("vpc-"))
    for number, name in enumerate(vpcs):
        with patch("moto.ec2.models.vpcs.random_vpc_id", return_value=name):
            network.create_vpc(f"10.{number}.0.0/16")
    for number, name in enumerate(sorted(each for each in declared if each.startswith("subnet-"))):
        with patch("moto.ec2.models.subnets.random_subnet_id", return_value=name):
            network.create_subnet(vpcs[0], f"10.0.{number}.0/24", availability_zone=f"{region}{'abc'[number % 3]}")
