"""A project of Google Cloud on this machine: a stand-in judges each question by Google's published APIs, and tests its answers.

What Google has, and where, is held as it would answer: machines and their GPUs, networks of RDMA, quotas, versions of GKE.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from google.auth.credentials import AnonymousCredentials

from gpufabric.preflight.gcp import preflight_gcp
from gpufabric.preflight.gcp_client import Google
from gpufabric.spec import SpecError
from tests.plan.gcp.wishes import plan_of
from tools.googleapi.server import GoogleApis
from tools.googleapi.troubles import Trouble
from tools.judge.google.model import answer_of
from tools.judge.walker import walk

PROJECT, REGION, ZONE = "acme-training", "us-central1", "us-central1-a"
HERE = f"projects/{PROJECT}/zones/{ZONE}"
IN_REGION = f"projects/{PROJECT}/regions/{REGION}"
SERVICES = f"projects/{PROJECT}/services"
QUOTA_INFOS = f"projects/{PROJECT}/locations/global/services/compute.googleapis.com/quotaInfos"
CLUSTERS = f"projects/{PROJECT}/locations/{REGION}/clusters"
SERVER_CONFIG = f"projects/{PROJECT}/locations/{REGION}/serverConfig"
PROFILES = f"projects/{PROJECT}/global/networkProfiles"
ULTRA, H200 = "a3-ultragpu-8g", "nvidia-h200-141gb"
NETWORKS = f"projects/{PROJECT}/global/networks"
SUBNETS = f"{IN_REGION}/subnetworks"
MACHINE = f"{HERE}/machineTypes/{ULTRA}"
JUNE = f"{HERE}/reservations/june"
HELD: dict[str, Any] = {
    "specificReservation": {"count": "4", "inUseCount": "0", "instanceProperties": {"machineType": "a3-ultragpu-8g"}},
    "specificReservationRequired": True,
}
CLUSTER: dict[str, Any] = {
    "status": "RUNNING",
    "currentMasterVersion": "1.35.1-gke.1396000",
    "networkConfig": {
        "datapathProvider": "ADVANCED_DATAPATH",
        "enableMultiNetworking": True,
        "network": f"{NETWORKS}/shared",
    },
    "addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}, "lustreCsiDriverConfig": {"enabled": True}},
    "workloadIdentityConfig": {"workloadPool": f"{PROJECT}.svc.id.goog"},
}
LUSTRE = f"projects/{PROJECT}/locations/us-central1-a/instances/training-data"
ULTRA_TYPE: Mapping[str, Any] = {
    "guestCpus": 224,
    "accelerators": [{"guestAcceleratorType": H200, "guestAcceleratorCount": 8}],
    "bundledLocalSsds": {"defaultInterface": "NVME", "partitionCount": 32},
}
VERSIONS: Mapping[str, Any] = {
    "channels": [
        {"channel": "RAPID", "validVersions": ["1.36.0-gke.1000000", "1.35.3-gke.1000000"]},
        {"channel": "REGULAR", "validVersions": ["1.35.1-gke.1396000", "1.34.1-gke.1829001"]},
    ]
}


def quotas(**limits: tuple[int, int]) -> list[dict[str, Any]]:
    """``NETWORKS=(5, 1)``: limit and use, as Compute Engine lists them."""
    return [{"metric": metric, "limit": float(limit), "usage": float(used)} for metric, (limit, used) in limits.items()]


OF_PROJECT = {"NETWORKS": (15, 1), "SUBNETWORKS": (100, 4), "FIREWALLS": (100, 4), "ROUTERS": (20, 0)}
OF_PROJECT |= {"GPUS_ALL_REGIONS": (64, 0)}
OF_REGION = {"CPUS": (72, 0), "HDB_TOTAL_GB": (4096, 0), "SSD_TOTAL_GB": (4096, 0)}


class Project:
    """Answers like a good project. ``apis``: what was asked, and what came back."""

    def __init__(self, folder: Path) -> None:
        self.apis = GoogleApis(folder / "google.sqlite", PROJECT)
        self.hold(f"projects/{PROJECT}", quotas=quotas(**OF_PROJECT))
        self.hold(IN_REGION, quotas=quotas(**OF_REGION))
        self.hold(HERE, status="UP")
        self.hold(MACHINE, **ULTRA_TYPE)
        self.hold(f"{HERE}/machineTypes/e2-standard-4", guestCpus=4)
        self.hold(f"{HERE}/acceleratorTypes/{H200}", maximumCardsPerInstance=8)
        self.hold(f"{PROFILES}/{ZONE}-vpc-roce")
        self.gpu_quota("GPUS-PER-GPU-FAMILY-per-project-region", {"gpu_family": "NVIDIA_H200"}, 32)
        self.put("container", SERVER_CONFIG, VERSIONS)

    def hold(self, path: str, api: str = "compute", **body: Any) -> Self:
        """Something that is there."""
        self.apis.account.hold(path, api, **body)
        return self

    def put(self, api: str, path: str, body: Mapping[str, Any]) -> Self:
        """The same, with nothing added."""
        with self.apis.account.store.transaction() as ledger:
            ledger.put(api, path, dict(body))
        return self

    def lose(self, *paths: str) -> Self:
        """Something that is not there."""
        with self.apis.account.store.transaction() as ledger:
            for path in paths:
                ledger.remove(path)
        return self

    def gpu_quota(self, quota: str, dimensions: Mapping[str, str], value: int, region: str = REGION) -> Self:
        """A quota of Cloud Quotas, with a default of 0, which Google's JSON leaves out."""
        special = {"dimensions": {"region": region, **dimensions}, "details": {"value": str(value)}}
        infos = [{**special, "applicableLocations": [region]}, {"details": {}, "applicableLocations": [region]}]
        self.put("cloudquotas", f"{QUOTA_INFOS}/{quota}", {"quotaId": quota, "dimensionsInfos": infos})
        return self

    def switch_off(self, api: str) -> Self:
        """An API that the project has not enabled."""
        self.put("serviceusage", f"{SERVICES}/{api}.googleapis.com", {"state": "DISABLED"})
        return self

    def refuse(self, method: str, says: str = "no", status: int = 403, times: int = 99) -> Self:
        """Answer calls of a method, such as ``compute regions.get``, with an error."""
        self.apis.account.trouble(Trouble(method, "forbidden" if status == 403 else "backendError", says, status, times))
        return self

    def google(self) -> Google:
        """A reader of this project."""
        return Google(PROJECT, AnonymousCredentials(), f"{self.apis.url}/")  # type: ignore[no-untyped-call]

    def misfits(self) -> Iterable[str]:
        """Questions that no published method understands, and answers that are not of the published form."""
        for each in self.apis.exchanges:
            if each.call is None:
                yield f"no method {each.request.method} {each.request.path}"
            elif each.status == 200:
                yield from map(str, walk(answer_of(each.request, each.call, each.answer)))


def says(raw: dict[str, Any], project: Project) -> list[str]:
    """The lines, less where a number comes from. Every question and every answer is of the form that Google publishes."""
    lines = []
    try:
        preflight_gcp(plan_of(raw), project.google())
    except SpecError as error:
        lines = [line.partition(" (vendor, ")[0] for line in str(error).split("\n")]
    assert list(project.misfits()) == []
    return lines


def reserve(project: Project, path: str = JUNE, **more: Any) -> Project:
    """A reservation; ``count`` and ``used`` of its instances."""
    held = {**HELD["specificReservation"]}
    held |= {name: str(more.pop(key)) for key, name in (("count", "count"), ("used", "inUseCount")) if key in more}
    if "machine" in more:
        held["instanceProperties"] = {"machineType": more.pop("machine")}
    return project.put("compute", path, {"name": "june", **HELD, "specificReservation": held, **more})


def exist(project: Project) -> None:
    """Everything that ``FOUND`` names."""
    network: dict[str, Any] = {"mtu": 8896}
    for name in ("shared", "second"):
        project.hold(f"{NETWORKS}/{name}", **network)
    project.hold(
        f"{NETWORKS}/rdma", **network, networkProfile=f"https://compute.googleapis.com/v1/{PROFILES}/us-central1-a-vpc-roce"
    )
    ranges = [{"rangeName": "pods", "ipCidrRange": "10.1.0.0/16"}, {"rangeName": "services", "ipCidrRange": "10.2.0.0/20"}]
    subnet(project, "nodes", "shared", privateIpGoogleAccess=True, secondaryIpRanges=ranges)
    subnet(project, "second", "second")
    for rail in range(8):
        subnet(project, f"rail-{rail}", "rdma")
    project.put("container", f"{CLUSTERS}/shared", {"name": "shared", **CLUSTER})
    project.hold("b/acme-weights", "storage", iamConfiguration={"uniformBucketLevelAccess": {"enabled": True}})
    project.hold(LUSTRE, "lustre", network=f"{NETWORKS}/shared")


def subnet(project: Project, name: str, network: str, **more: Any) -> None:
    link = f"https://www.googleapis.com/compute/v1/{NETWORKS}/{network}"
    project.hold(f"{SUBNETS}/{name}", **{"network": link, "ipCidrRange": "10.0.0.0/24", **more})
