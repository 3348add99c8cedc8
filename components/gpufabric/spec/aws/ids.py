"""AWS's ids and names, checked by shape: the cloud would say it after minutes."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator

from gpufabric.spec.problems import shown


def matching(pattern: str, what: str, example: str) -> Any:
    """A validator: the whole text matches ``pattern``, or a ValueError that shows an example."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(f"{shown(value)} is not {what}; write for example {example}")
        return value

    return AfterValidator(check)


_HEX = r"([0-9a-f]{8}|[0-9a-f]{17})"
Region = Annotated[str, matching(r"[a-z]{2,3}(-[a-z]+){1,2}-[1-9]", "a region of AWS", "us-east-2")]
Zone = Annotated[str, matching(r"[a-z]{2,3}(-[a-z]+){1,2}-[1-9][a-z]", "the name of an availability zone", "us-east-2b")]
VpcId = Annotated[str, matching(f"vpc-{_HEX}", "the id of a VPC", "vpc-0123456789abcdef0")]
SubnetId = Annotated[str, matching(f"subnet-{_HEX}", "the id of a subnet", "subnet-0123456789abcdef0")]
ReservationId = Annotated[str, matching(f"cr-{_HEX}", "the id of a capacity reservation", "cr-0123456789abcdef0")]
