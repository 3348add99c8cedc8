"""AWS's published API as botocore ships it (botocore/data): every service's operations, shapes and constraints.

botocore's own validator looks at names, types, required members and lower bounds; enums, patterns and upper bounds stand in the
same files and are read here.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import UnknownServiceError
from botocore.model import OperationModel, ServiceModel, ShapeResolver, StructureShape
from botocore.model import Shape as BotocoreShape

from tools.judge.aws import rest, wire
from tools.judge.request import Request
from tools.judge.shapes import Call, Kind, Shape, UnknownOperationError

_KINDS: Mapping[str, Kind] = {
    "structure": "structure",
    "list": "list",
    "map": "map",
    "string": "string",
    "character": "string",
    "integer": "integer",
    "long": "integer",
    "float": "float",
    "double": "float",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "blob": "blob",
}
_NO_MEMBERS = StructureShape("Nothing", {"type": "structure"}, ShapeResolver({}))


class AwsShape:
    """A botocore shape in the walker's words."""

    def __init__(self, shape: BotocoreShape) -> None:
        self._shape = shape
        self.name: str = shape.name
        self.kind: Kind = "document" if getattr(shape, "is_document_type", False) else _KINDS[shape.type_name]
        self.required = frozenset(shape.metadata.get("required", ()))
        self.union = bool(shape.metadata.get("union"))
        self.enum = frozenset(shape.metadata.get("enum", ()))
        self.pattern: str = shape.metadata.get("pattern", "")
        self.minimum: float | None = shape.metadata.get("min")
        self.maximum: float | None = shape.metadata.get("max")

    def members(self) -> Mapping[str, Shape]:
        """By the name that the API's documentation uses, not the one on the wire."""
        return {name: AwsShape(each) for name, each in self._shape.members.items()}

    def element(self) -> Shape:
        """Of a list or a map."""
        return AwsShape(self._shape.member if self._shape.type_name == "list" else self._shape.value)

    def key(self) -> Shape:
        """Of a map."""
        return AwsShape(self._shape.key)


class AwsModel:
    """All services that botocore knows, each loaded when first asked for."""

    def read(self, request: Request) -> Call:
        """What the request means; raises ``UnknownOperationError``."""
        service = service_model(request.service)
        operation, members = _read(service, request)
        shape = AwsShape(operation.input_shape or _NO_MEMBERS)
        return Call(service.service_name, operation.name, members, shape)


@cache
def service_model(name: str) -> ServiceModel:
    """By botocore's own name, which is the signature's for every service in use here; raises ``UnknownOperationError``."""
    try:
        return _session().get_service_model(name)
    except UnknownServiceError:
        raise UnknownOperationError(f"AWS has no service {name!r}") from None


@cache
def _session() -> Any:
    return botocore.session.Session()


def _read(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, Any]]:
    protocol = service.metadata["protocol"]
    if protocol.startswith("rest-"):
        found = rest.find(service, request)
        if found is None:
            raise UnknownOperationError(f"{request.service} has no operation {request.method} {request.path}")
        operation, labels = found
        return operation, rest.members(request, operation, labels)
    target = request.headers.get("x-amz-target", "")
    name = target.rpartition(".")[2] if protocol == "json" else (request.form or {}).get("Action", "")
    if name not in service.operation_names:
        raise UnknownOperationError(f"{request.service} has no operation {name!r}")
    operation = service.operation_model(name)
    if protocol == "json":
        body = wire.from_json(request.json, operation.input_shape)
        return operation, body if isinstance(body, dict) else {"(body)": body}
    return operation, wire.from_form(request.form or {}, operation.input_shape, ec2=protocol == "ec2")
