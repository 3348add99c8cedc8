"""Where AWS's Terraform provider lists its services: one generated file registers their resources, one makes their clients."""

import re
from collections.abc import Collection
from pathlib import Path

MODULE = "github.com/hashicorp/terraform-provider-aws"
CLIENTS = Path("internal/conns/awsclient_gen.go")
_REGISTRY = Path("internal/provider/sdkv2/service_packages_gen.go")
_SDK = re.compile(r"github\.com/aws/aws-sdk-go-v2/service/(\w+)")


def cut(copy: Path, services: Collection[str], imported: Collection[str]) -> None:
    """Leave these services in the registry, and the clients of what is imported."""
    registry = (copy / _REGISTRY).read_text("utf-8")
    registry = re.sub(rf'\t"{MODULE}/internal/service/(\w+)"\n', lambda line: line[0] if line[1] in services else "", registry)
    registry = re.sub(r"\t\t(\w+)\.ServicePackage\(ctx\),\n", lambda line: line[0] if line[1] in services else "", registry)
    (copy / _REGISTRY).write_text(registry, "utf-8")
    used = set(_SDK.findall("\n".join(imported)))
    clients = (copy / CLIENTS).read_text("utf-8")
    clients = re.sub(rf'\t"{_SDK.pattern}"\n', lambda line: line[0] if line[1] in used else "", clients)
    method = re.compile(r"\nfunc \(c \*AWSClient\) \w+\(.*?\) \*(\w+)\.Client \{\n.*?\n\}\n", re.S)
    clients = method.sub(lambda found: found[0] if found[1] in used else "", clients)
    (copy / CLIENTS).write_text(clients, "utf-8")
