"""What exists in a project of Google Cloud and does not fit the plan that names it is one line each."""

from collections.abc import Callable
from typing import Any

import pytest

from gpufabric.hardware import gke_minimums
from tests.plan.gcp.test_any_value import FOUND
from tests.preflight.google_project import (
    CLUSTER,
    CLUSTERS,
    LUSTRE,
    NETWORKS,
    PROFILES,
    SUBNETS,
    Project,
    exist,
    says,
    subnet,
)


def test_what_exists_and_fits_is_silent(project: Project) -> None:
    exist(project)
    assert says(FOUND, project) == []


LUSTRE_FROM = gke_minimums("lustre")[-1].version


def change_cluster(**changes: Any) -> Callable[[Project], Any]:
    """The cluster that exists, with other members."""
    return lambda project: project.put("container", f"{CLUSTERS}/shared", {"name": "shared", **CLUSTER, **changes})


EXISTING: dict[str, tuple[Callable[[Project], Any], list[str]]] = {
    "a cluster that is not there": (
        lambda project: project.lose(f"{CLUSTERS}/shared"),
        ["cluster.existing.name: Google knows no GKE cluster shared in us-central1; check name and location"],
    ),
    "a cluster that is broken, of Autopilot and too old": (
        change_cluster(status="ERROR", autopilot={"enabled": True}, currentMasterVersion="1.31.1-gke.1000000"),
        [
            "cluster.existing.name: shared is ERROR; wait until it is RUNNING, or repair it",
            "cluster.existing.name: shared is an Autopilot cluster, which takes no node pools; name a Standard cluster",
            (
                "cluster.existing.name: shared: a3-ultragpu-8g works from 1.31.7-gke.1265000 on; 1.31.1-gke.1000000 is older; "
                "upgrade the control plane"
            ),
            (
                f"cluster.existing.name: shared: lustre works from {LUSTRE_FROM} on; 1.31.1-gke.1000000 is older; "
                "upgrade the control plane"
            ),
        ],
    ),
    "a cluster that was made without what a fabric needs, elsewhere": (
        change_cluster(networkConfig={"datapathProvider": "LEGACY_DATAPATH", "network": f"{NETWORKS}/other"}),
        [
            "cluster.existing.name: shared has no Dataplane V2, which a cluster is made with; name, or make, another one",
            (
                "cluster.existing.name: shared has no multi-networking, which a cluster is made with: its nodes get no cards "
                "of the fabric; name, or make, another one (GKE, Set up multi-network support)"
            ),
            (f"network.existing.network: shared is in {NETWORKS}/other, not in {NETWORKS}/shared; write network: other"),
        ],
    ),
    "a cluster without drivers and identities": (
        change_cluster(addonsConfig={}, workloadIdentityConfig={}),
        [
            (
                "cluster.existing.name: shared lacks the driver LustreCsiDriver; "
                "gcloud container clusters update shared --update-addons=LustreCsiDriver=ENABLED"
            ),
            (
                "cluster.existing.name: shared lacks the driver GcsFuseCsiDriver; "
                "gcloud container clusters update shared --update-addons=GcsFuseCsiDriver=ENABLED"
            ),
            (
                "cluster.existing.name: shared has no workload identity: its pods reach no bucket; "
                "gcloud container clusters update shared --workload-pool=acme-training.svc.id.goog"
            ),
        ],
    ),
    "a network and a subnet that are not there": (
        lambda project: project.lose(f"{NETWORKS}/shared", f"{SUBNETS}/nodes"),
        [
            f"network.existing.network: Google knows no network {NETWORKS}/shared; check the name and the project",
            (
                "network.existing.subnetwork: Google knows no subnet nodes in us-central1; "
                "check the name, the region and the project"
            ),
        ],
    ),
    "a subnet that does not fit": (
        lambda project: subnet(
            project,
            "nodes",
            "second",
            ipCidrRange="10.0.0.0/29",
            secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": "10.1.0.0/24"}],
        ),
        [
            "network.existing.subnetwork: nodes is in second, not in shared; write a subnet of that network",
            (
                "network.existing.subnetwork: Private Google Access is off in nodes: nodes without public addresses reach no "
                "registry; switch it on (GKE, private nodes)"
            ),
            "network.existing.services_range: nodes has no range services; write one of pods",
            (
                "network.existing.pods_range: pods (10.1.0.0/24) has room for the pods of 2 nodes of 4; "
                "take a larger range: a node takes 128"
            ),
        ],
    ),
    "networks of cards that are of another kind": (
        lambda project: (
            project.hold(f"{NETWORKS}/second", mtu=1460).hold(f"{NETWORKS}/rdma", mtu=8896).lose(f"{SUBNETS}/rail-7")
        ),
        [
            (
                "network.existing.gpu_networks.a3-ultragpu-8g[0].network: second has MTU 1460; this fabric is measured with "
                "8896; raise it to 8896, and restart what is in it"
            ),
            *(
                (
                    f"network.existing.gpu_networks.a3-ultragpu-8g[{position}].network: rdma has no network profile: it is not "
                    "a network of RDMA in this zone; name one with us-central1-a-vpc-roce "
                    "(Google's VPC documentation, RDMA network profiles)"
                )
                for position in range(1, 9)
            ),
            (
                "network.existing.gpu_networks.a3-ultragpu-8g[8].subnetwork: Google knows no subnet rail-7 in us-central1; "
                "check the name, the region and the project"
            ),
        ],
    ),
    "RDMA where ordinary cards go": (
        lambda project: project.hold(f"{NETWORKS}/second", mtu=8896, networkProfile=f"{PROFILES}/us-central1-a-vpc-roce"),
        [
            (
                "network.existing.gpu_networks.a3-ultragpu-8g[0].network: second has the profile us-central1-a-vpc-roce, and "
                "takes no ordinary cards; name an ordinary network"
            )
        ],
    ),
    "a file system that is not there": (
        lambda project: project.lose(LUSTRE),
        [
            (
                "filesystems.data.existing: Managed Lustre knows no training-data in us-central1-a; "
                "check its name, and that it is in the zone"
            )
        ],
    ),
    "a file system that is not ready, in another network": (
        lambda project: project.put("lustre", LUSTRE, {"state": "CREATING", "network": f"{NETWORKS}/other"}),
        [
            "filesystems.data.existing: training-data is CREATING; wait until it is ACTIVE",
            "filesystems.data.existing: training-data is in other, the nodes in shared; name one of the same network",
        ],
    ),
}


@pytest.mark.parametrize("case", EXISTING)
def test_what_exists_and_does_not_fit_is_said(case: str, project: Project) -> None:
    happens, lines = EXISTING[case]
    exist(project)
    happens(project)
    found = says(FOUND, project)
    # Eight rails of a network are eight lines; each is as wrong as the others.
    assert sorted(found) == sorted(lines)
