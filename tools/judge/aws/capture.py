"""A request to AWS as it comes off the wire, put into the form that is kept."""

import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from tools.judge.request import Request

# AWS Signature Version 4: Credential=KEY/20261129/us-east-1/ec2/aws4_request
_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/[^/]*/([^/]+)/aws4_request")
# Signed as S3, but another service.
_S3_CONTROL = "/v20180820/"
# How the bytes travelled and who sent them: no members of the operation. The checksum of a body follows from the body.
_TRANSPORT = re.compile(
    r"host|user-agent|accept|accept-encoding|connection|authorization|expect|date|content-(length|type|md5|encoding)"
    r"|transfer-encoding|amz-sdk-.*|x-amzn-.*"
    r"|x-amz-(date|content-sha256|security-token|user-agent|sdk-.*|checksum-.*|trailer|decoded-content-length)"
)


def is_transport(header: str) -> bool:
    """Is it a header that is not kept?"""
    return _TRANSPORT.fullmatch(header.lower()) is not None


def service_of(headers: Mapping[str, str]) -> str:
    """The service that the request was signed for; empty if it was not signed."""
    found = _SCOPE.search(headers.get("authorization", ""))
    return found[1] if found else ""


def capture(method: str, target: str, headers: Mapping[str, str], body: bytes, service: str = "") -> Request:
    """``target`` is path and query, ``headers`` have names in lower case; ``service`` is the one signed for if left out."""
    path, _, query = target.partition("?")
    asked: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        asked.setdefault(name, []).append(value)
    singles = {name: values[0] if len(values) == 1 else values for name, values in asked.items()}
    kept = {name: value for name, value in sorted(headers.items()) if not is_transport(name)}
    kind = headers.get("content-type", "").partition(";")[0].strip()
    written = body.decode("utf-8", errors="replace")
    form = data = xml = text = None
    if kind == "application/x-www-form-urlencoded":
        form = dict(sorted(parse_qsl(written, keep_blank_values=True)))
    elif written and ("json" in kind or "x-amz-target" in kept):
        data = json.loads(written)
    elif written.startswith("<"):
        xml = written
    elif written:
        text = written
    service = service or service_of(headers)
    if service == "s3" and path.startswith(_S3_CONTROL):
        service = "s3control"
    return Request(service, method, path, singles, kept, form, data, xml, text)
