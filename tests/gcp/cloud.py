"""What Google Cloud would add to a resource: outputs that components read, for programs that run without an engine."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.kubernetes.mocked import Computed, Recording, Registered, run

AUTHORITY = "Y2VydGlmaWNhdGU="
ADDRESS = "203.0.113.10"
NAME_OF_API = "gke-1234567890abcdef-123456789012.us-central1.gke.goog"
CLUSTER: Mapping[str, Any] = {
    "endpoint": ADDRESS,
    "masterAuth": {"clusterCaCertificate": AUTHORITY},
    "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": NAME_OF_API}},
}


def named(resource: Registered) -> Mapping[str, Any]:
    """A name of its own, as Pulumi gives to what has none."""
    return {"name": resource.inputs.get("name", f"{resource.name}-0123456")}


def account(resource: Registered) -> Mapping[str, Any]:
    email = f"{resource.inputs['accountId']}@acme-training.iam.gserviceaccount.com"
    return {"email": email, "member": f"serviceAccount:{email}"}


def lustre(resource: Registered) -> Mapping[str, Any]:
    return {"mountPoint": f"10.0.192.3@tcp:/{resource.inputs['filesystem']}"}


def filestore(resource: Registered) -> Mapping[str, Any]:
    return {"networks": [{**each, "ipAddresses": ["10.0.192.4"]} for each in resource.inputs["networks"]]}


COMPUTED: Mapping[str, Computed] = {
    **{
        f"gcp:compute/{kind[0].lower()}{kind[1:]}:{kind}": named
        for kind in ("Network", "Subnetwork", "Router", "GlobalAddress", "RegionNetworkFirewallPolicy")
    },
    "gcp:container/cluster:Cluster": CLUSTER,
    "gcp:container/nodePool:NodePool": named,
    "gcp:serviceaccount/account:Account": account,
    "gcp:storage/bucket:Bucket": {"projectNumber": 123456789012, "url": "gs://made"},
    "gcp:lustre/instance:Instance": lustre,
    "gcp:filestore/instance:Instance": filestore,
    "kubernetes:core/v1:PersistentVolume": {"metadata": {"name": "volume-1"}},
}
EXISTING: Mapping[str, Mapping[str, Any]] = {
    "projects/acme-training/locations/us-central1/clusters/shared-cluster": {
        **CLUSTER,
        "name": "shared-cluster",
        "location": "us-central1",
        "project": "acme-training",
    },
    "acme-data": {"name": "acme-data", "url": "gs://acme-data", "projectNumber": 123456789012},
    "projects/acme-training/locations/us-central1-a/instances/shared-lustre": {
        "capacityGib": "36000",
        "filesystem": "scratch",
        "mountPoint": "10.9.0.3@tcp:/scratch",
    },
    "projects/acme-training/locations/us-central1/instances/shared-nfs": {
        "fileShares": {"name": "vol1", "capacityGb": 2560},
        "networks": [{"network": "shared", "modes": ["MODE_IPV4"], "ipAddresses": ["10.9.0.4"]}],
    },
}


def run_on_gcp(program: Callable[[], object], **how: Any) -> Recording:
    """Run a program in a cloud that has :data:`EXISTING` and adds :data:`COMPUTED`."""
    return run(program, computed=COMPUTED, cluster=EXISTING, **how)
