"""Where Google's Terraform provider lists its services: one generated file imports every package, which registers itself."""

import re
from collections.abc import Collection
from pathlib import Path

MODULE = "github.com/hashicorp/terraform-provider-google"
_REGISTRY = Path("google/provider/provider_register_services.go")
_SERVICE = re.compile(rf'\t_ "{MODULE}/google/services/(\w+)"\n')


def cut(copy: Path, services: Collection[str], imported: Collection[str]) -> None:  # noqa: ARG001 - no client is listed
    """Leave these services in the registry."""
    registry = (copy / _REGISTRY).read_text("utf-8")
    registry = _SERVICE.sub(lambda line: line[0] if line[1] in services else "", registry)
    (copy / _REGISTRY).write_text(registry, "utf-8")
