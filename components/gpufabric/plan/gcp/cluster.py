"""The GKE cluster: who reaches and administers it, when it is upgraded, which drivers it runs, what its nodes may do."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from gpufabric.plan.access import access_problems
from gpufabric.plan.gcp.names import POOL_MOST, name_problems
from gpufabric.plan.gcp.places import place_problems
from gpufabric.plan.gcp.version import kubernetes_version, version_problems
from gpufabric.plan.kubeconfig import kubeconfig as by_command
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.cloud.blocks import PRIVATE_BLOCKS
from gpufabric.spec.gcp.cluster import GkeClusterWish

HANDLES = ("network", "subnetwork", "pods_range", "services_range")
"""Names that a cluster which is made has to be given."""
NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
"""What a node does: write logs and metrics, pull images (GKE, Harden your cluster's security)."""
ADMIN_ROLE = "roles/container.admin"
NODE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""The one scope: what nodes may do is decided by the roles of their account."""
METRICS = ("SYSTEM_COMPONENTS", "DCGM")
LOGS = ("SYSTEM_COMPONENTS", "WORKLOADS")
FREEZE_BEGAN = "2026-01-01T00:00:00Z"
"""Begin of the exclusion of upgrades: in the past, and always the same, so that no `up` has a difference."""
UPGRADE_WINDOW_UTC = "03:00"
"""When GKE may patch the control plane; nodes are never touched."""
_MOST = POOL_MOST - len("-system")
_ACCOUNT_MOST = 30
_PRIVATE = tuple(map(str, PRIVATE_BLOCKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeAdminPlan:
    """One administrator. ``key`` is unique and part of the resource's name."""

    key: str
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeClusterPlan:
    """A cluster that is made. ``access``: public, private or dns; ``callers``: addresses that may call, where they count."""

    name: str
    project: str
    region: str
    zone: str
    version: str
    release_channel: str
    access: str
    callers: tuple[str, ...]
    admins: tuple[GkeAdminPlan, ...]
    csi_drivers: frozenset[str]
    node_account: str
    system_machine_type: str
    system_nodes: int
    deletion_protection: bool
    labels: Mapping[str, str]

    @property
    def public_cidrs(self) -> tuple[str, ...]:
        """Who may call from the internet by address."""
        return self.callers if self.access == "public" else ()

    @property
    def workload_pool(self) -> str:
        """The identities of the pods."""
        return f"{self.project}.svc.id.goog"

    @property
    def admin_condition(self) -> str:
        """In IAM's language: this cluster alone."""
        return f'resource.name == "{cluster_path(self.project, self.region, self.name)}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingGkePlan:
    """A cluster that exists."""

    project: str
    location: str
    name: str

    @property
    def path(self) -> str:
        """Its id."""
        return cluster_path(self.project, self.location, self.name)


def cluster_path(project: str, location: str, name: str) -> str:
    """The full name of a cluster."""
    return f"projects/{project}/locations/{location}/clusters/{name}"


def plan_cluster(name: str, spec: GkeClusterWish, *, handles: Set[str], at: str = "") -> GkeClusterPlan | ExistingGkePlan:
    """The plan of a cluster; raises :class:`SpecError`. ``handles``: those of :data:`HANDLES` that are given.

    ``at``: path of the keys that stand under ``cluster`` in a stack file.
    """
    version = kubernetes_version(spec.kubernetes_version, "kubernetes_version")
    problems = [version] if isinstance(version, Problem) else []
    if spec.existing:
        if problems := [*_decided(spec, handles), *problems]:
            raise SpecError(_placed(problems, at))
        return ExistingGkePlan(project=spec.project, location=spec.existing.location or spec.region, name=spec.existing.name)
    if not isinstance(version, Problem):
        problems += version_problems(version, spec.csi_drivers, "kubernetes_version")
    problems += [
        *access_problems(spec.api_access, ("public", "private", "dns")),
        *name_problems(name, "a GKE cluster and its system nodes", _MOST),
        *_admin_problems(spec),
    ]
    problems += [Problem("zone", "missing", "write the zone of the GPU nodes")] if spec.zone is None else []
    problems += place_problems(spec.region, spec.zone) if spec.zone else []
    problems += [Problem(key, "missing", "GcpNetwork yields it") for key in HANDLES if key not in handles]
    if problems or isinstance(version, Problem) or spec.api_access is None or spec.zone is None:
        raise SpecError(_placed(problems, at))
    return GkeClusterPlan(
        name=name,
        project=spec.project,
        region=spec.region,
        zone=spec.zone,
        version=version,
        release_channel=spec.release_channel.upper(),
        access=spec.api_access.kind,
        # A private endpoint is asked from all that is routed to the VPC: unsaid, it would be the nodes' own subnet alone.
        callers=_PRIVATE if spec.api_access.kind == "private" else tuple(spec.api_access.cidrs),
        admins=tuple(GkeAdminPlan(key=_key(member), member=member) for member in spec.admin_principals),
        csi_drivers=frozenset(spec.csi_drivers),
        node_account=account_id(f"{name}-nodes"),
        system_machine_type=spec.system_nodes.machine_type,
        system_nodes=spec.system_nodes.nodes,
        deletion_protection=spec.deletion_protection,
        labels=spec.tags,
    )


def account_id(name: str) -> str:
    """The id of a service account, 6 to 30 characters: the name, or its begin and a hash that tells it from others."""
    if len(name) <= _ACCOUNT_MOST:
        return name
    return f"{name[: _ACCOUNT_MOST - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def kubeconfig(name: str, endpoint: str, authority: str, dns_endpoint: str | None) -> str:
    """A kubeconfig that asks Google's plug-in for a token whenever it is used: it holds no credential itself.

    ``dns_endpoint``: taken instead of the address, where the API is reached by its name; a public authority signed for it.
    """
    server, signed_by = (dns_endpoint, None) if dns_endpoint else (endpoint, authority)
    hint = "install gke-gcloud-auth-plugin (gcloud components install gke-gcloud-auth-plugin): it makes the token"
    return by_command(name, f"https://{server}", signed_by, command="gke-gcloud-auth-plugin", hint=hint)


def _placed(problems: Iterable[Problem], at: str) -> list[Problem]:
    """``api_access`` and ``zone`` stand beside ``cluster`` in a stack file, all other keys below it."""
    return [problem if problem.path in ("api_access", "zone", "") else problem.below(at) for problem in problems]


def _decided(spec: GkeClusterWish, handles: Set[str]) -> Iterator[Problem]:
    """Keys of a cluster that is made, beside one that exists. Its version may be said: fabrics need one."""
    keys = {"admin_principals", "release_channel", "system_nodes", "deletion_protection"} & spec.model_fields_set
    keys |= handles | ({"api_access"} if spec.api_access else set())
    for key in sorted(keys):
        yield Problem(key, "the cluster exists, and nothing of it is changed", "leave it out")


def _admin_problems(spec: GkeClusterWish) -> Iterator[Problem]:
    for position, member in enumerate(spec.admin_principals):
        if member in spec.admin_principals[:position]:
            yield Problem(f"admin_principals[{position}]", f"{member} is listed twice", "write it once")


def _key(member: str) -> str:
    """``ml-platform-1a2b3c``: the first word of the name, and a hash that tells same-named members apart."""
    name = member.partition(":")[2].partition("@")[0].rpartition("/")[2]
    word = re.sub(r"[^A-Za-z0-9-]+", "-", name)[:40].strip("-")
    return f"{word}-{hashlib.sha256(member.encode()).hexdigest()[:6]}"
