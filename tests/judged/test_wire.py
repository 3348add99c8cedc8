"""What botocore writes is what our readers read: every operation of every service in use, with all its members."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape
from botocore.serialize import create_serializer

from tools.judge.aws.capture import capture, is_transport
from tools.judge.aws.model import AwsModel, service_model
from tools.judge.request import Request

# Bodies of bytes: nobody walks along them.
STREAMED = {"Body", "AnnotationPayload"}
# ListBuckets and ListDirectoryBuckets differ in the host alone, which a record does not keep.
SAME = {"ListBuckets"}
SERVICES = ("ec2", "eks", "iam", "autoscaling", "fsx", "s3", "ssm", "sts")


def a_value(shape: Shape, draw: random.Random, depth: int = 0) -> Any:
    """Any value of the shape's type, at most three levels deep, since some shapes contain themselves. Nothing is empty: AWS's
    forms cannot say so."""
    if isinstance(shape, StructureShape):
        drawn = {name: a_value(member, draw, depth + 1) for name, member in shape.members.items()}
        return {name: each for name, each in drawn.items() if each not in ({}, [])}
    if isinstance(shape, ListShape):
        several = [a_value(shape.member, draw, depth + 1) for _ in range(draw.choice([1, 2, 11]))] if depth < 6 else []
        return [each for each in several if each not in ({}, [])]
    if isinstance(shape, MapShape):
        return {a_value(shape.key, draw): a_value(shape.value, draw, depth + 1) for _ in range(2)} if depth < 6 else {}
    kind = shape.type_name
    if kind in ("integer", "long"):
        return draw.randrange(-5, 10**6)
    if kind in ("float", "double"):
        return draw.randrange(100) / 4
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "timestamp":
        return datetime(2026, draw.randrange(1, 13), 5, 7, 8, 9, tzinfo=UTC)
    if kind == "blob":
        return draw.randbytes(9)
    return draw.choice(["plain", "with space & sign=+/", "two\nlines", "ünï"]) + str(draw.randrange(10**6))


def a_request(operation: OperationModel, members: Mapping[str, Any]) -> Request:
    """What botocore would send."""
    service = operation.service_model
    raw = create_serializer(service.metadata["protocol"], False).serialize_to_request(dict(members), operation)
    path, _, fixed = raw["url_path"].partition("?")
    asked = raw["query_string"] if isinstance(raw["query_string"], str) else urlencode(raw["query_string"], doseq=True)
    body = raw["body"] or b""
    body = urlencode(body) if isinstance(body, dict) else body
    headers = {name.lower(): str(value) for name, value in raw["headers"].items()}
    query = "&".join(filter(None, (fixed, asked)))
    body = body if isinstance(body, bytes) else body.encode()
    return capture(raw["method"], f"{path}?{query}", headers, body, service.service_name)


@pytest.mark.parametrize("name", SERVICES)
def test_what_botocore_writes_is_what_we_read(name: str) -> None:
    service = service_model(name)
    read = 0
    for operation in map(service.operation_model, service.operation_names):
        shape = operation.input_shape
        if operation.name in SAME or operation.deprecated or shape is None or STREAMED & set(shape.members):
            continue
        drawn = a_value(shape, random.Random(operation.name))  # noqa: S311
        members = {key: each for key, each in drawn.items() if not _left_out(shape.members[key])}
        call = AwsModel().read(a_request(operation, members))
        assert (call.operation, call.members) == (operation.name, members)
        read += 1
    assert read >= 10


def _left_out(member: Shape) -> bool:
    """Headers that a record does not keep."""
    return member.serialization.get("location") == "header" and is_transport(member.serialization["name"])
