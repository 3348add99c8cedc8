"""The kinds that GKE's multi-networking brings, with the fields and words of Google's published types (gke-networking-api)."""

from typing import Any

GROUP = "networking.gke.io"
_TEXT = {"type": "string"}
_PARAMS = {
    "type": "object",
    "required": ["vpc", "vpcSubnet"],
    "properties": {"vpc": _TEXT, "vpcSubnet": _TEXT, "deviceMode": {**_TEXT, "enum": ["DPDK-VFIO", "NetDevice", "RDMA"]}},
}
_REFERENCE = {
    "type": "object",
    "required": ["group", "kind", "name"],
    "properties": {"group": _TEXT, "kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
}
_NETWORK = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {**_TEXT, "enum": ["L2", "L3", "Device"]}, "parametersRef": _REFERENCE},
}


def kinds() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions."""
    return [_kind("networks", "Network", _NETWORK), _kind("gkenetworkparamsets", "GKENetworkParamSet", _PARAMS)]


def _kind(plural: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            # Kubernetes keeps this group to itself and wants to know who approved of it.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }
