"""The EKS cluster: its API, its control plane's size, and which add-ons come before and after its first nodes."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufabric.hardware import UnknownHardwareError
from gpufabric.hardware.control_plane import control_plane_tier
from gpufabric.hardware.eks import EksVersion, eks_version
from gpufabric.plan.access import access_problems
from gpufabric.plan.aws.names import cluster_name_problems
from gpufabric.plan.aws.regions import foreign_arn, partition_of
from gpufabric.plan.kubeconfig import kubeconfig as by_command
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws.cluster import EksClusterWish

LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
LOG_DAYS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonPlan:
    """One add-on. ``configuration`` is what AWS's schema of the add-on takes; ``policy`` an AWS policy that its pods need."""

    name: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    policy: str = ""
    service_account: str = ""

    @property
    def configuration_json(self) -> str | None:
        """As the API takes it; None for the add-on's defaults."""
        return json.dumps(self.configuration, sort_keys=True) if self.configuration else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminPlan:
    """One administrator. ``key`` is unique and part of the resource's name."""

    key: str
    principal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A cluster that is made."""

    name: str
    region: str
    version: str
    tier: str
    public_cidrs: tuple[str, ...]
    admins: tuple[AdminPlan, ...]
    admin_policy: str
    before_nodes: tuple[AddonPlan, ...]
    after_nodes: tuple[AddonPlan, ...]
    system_machine_type: str
    system_nodes: int
    tags: Mapping[str, str]


def plan_cluster(name: str, spec: EksClusterWish, *, has_subnets: bool, at: str = "") -> ClusterPlan | str:
    """The plan of a cluster that is made, or the name of the one that exists; raises :class:`SpecError`.

    ``at``: path of the keys that stand under ``cluster`` in a stack file.
    """
    version = kubernetes_version(spec.kubernetes_version, "kubernetes_version")
    unknown = [version] if isinstance(version, Problem) else []
    if spec.existing:
        if problems := [*_decided(spec, has_subnets), *unknown]:
            raise SpecError(_placed(problems, at))
        return spec.existing.name
    problems = [
        *access_problems(spec.api_access, ("public", "private")),
        *cluster_name_problems(name),
        *_admin_problems(spec),
        *unknown,
    ]
    problems += [] if has_subnets else [Problem("subnet_ids", "missing", "write private subnets in two zones or more")]
    if problems or isinstance(version, Problem) or spec.api_access is None:
        raise SpecError(_placed(problems, at))
    partition = partition_of(spec.region)
    return ClusterPlan(
        name=name,
        region=spec.region,
        version=version.kubernetes,
        tier=spec.control_plane_tier or control_plane_tier(spec.gpu_nodes + spec.system_nodes.nodes).name,
        public_cidrs=tuple(spec.api_access.cidrs) if spec.api_access.kind == "public" else (),
        admins=tuple(AdminPlan(key=_key(arn), principal=arn) for arn in spec.admin_principals),
        admin_policy=f"arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        before_nodes=_before_nodes(spec.prefix_delegation),
        after_nodes=_after_nodes(),
        system_machine_type=spec.system_nodes.machine_type,
        system_nodes=spec.system_nodes.nodes,
        tags=spec.tags,
    )


def kubernetes_version(wanted: str | None, path: str) -> EksVersion | Problem:
    """The version asked for with its pinned images, or why there is none."""
    try:
        return eks_version(wanted)
    except UnknownHardwareError as error:
        return Problem(path, str(error), "write one of these in quotes, or leave it out")


def _placed(problems: Iterable[Problem], at: str) -> list[Problem]:
    """``api_access`` stands beside ``cluster`` in a stack file, all other keys below it."""
    return [problem if problem.path == "api_access" else problem.below(at) for problem in problems]


def _before_nodes(prefix_delegation: bool) -> tuple[AddonPlan, ...]:
    """What a node needs to become Ready. The CNI's own permissions come by pod identity, so its agent is here too."""
    cni: dict[str, Any] = {"enableNetworkPolicy": "true"}  # the gate's own NetworkPolicy is nothing without an enforcer
    if prefix_delegation:
        # A card with two interfaces has no room for a second ordinary one: pods would share the first one's 50 addresses.
        cni["env"] = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    return (
        AddonPlan(name="eks-pod-identity-agent"),
        AddonPlan(name="vpc-cni", configuration=cni, policy="AmazonEKS_CNI_Policy", service_account="aws-node"),
        AddonPlan(name="kube-proxy"),
    )


def _after_nodes() -> tuple[AddonPlan, ...]:
    """What needs nodes to run on: an add-on whose pods find none is reported as degraded."""
    everywhere = [{"operator": "Exists"}]  # its DCGM server tolerates nothing by itself and would miss every GPU node
    return (
        AddonPlan(name="coredns"),
        AddonPlan(name="eks-node-monitoring-agent", configuration={"dcgmAgent": {"tolerations": everywhere}}),
    )


def _decided(spec: EksClusterWish, has_subnets: bool) -> Iterator[Problem]:
    """Keys of a cluster that is made, beside one that exists. Its version may be said: node images are pinned for it."""
    keys = {"admin_principals", "control_plane_tier", "system_nodes"} & spec.model_fields_set
    keys |= ({"subnet_ids"} if has_subnets else set()) | ({"api_access"} if spec.api_access else set())
    for key in sorted(keys):
        yield Problem(key, "the cluster exists, and nothing of it is changed", "leave it out")


def _admin_problems(spec: EksClusterWish) -> Iterator[Problem]:
    """A principal has one entry; one of another world (China, GovCloud) is unknown where the cluster is."""
    for position, arn in enumerate(spec.admin_principals):
        path = f"admin_principals[{position}]"
        if arn in spec.admin_principals[:position]:
            yield Problem(path, f"{arn} is listed twice", "write it once")
        if foreign := foreign_arn(arn, spec.region, path):
            yield foreign


def _key(principal: str) -> str:
    """``ml-platform-1a2b3c``: the last word, and a hash that tells same-named principals apart."""
    last = re.sub(r"[^A-Za-z0-9-]+", "-", principal.rpartition("/")[2])[:40].strip("-")
    return f"{last}-{hashlib.sha256(principal.encode()).hexdigest()[:6]}"


def kubeconfig(name: str, arn: str, endpoint: str, authority: str) -> str:
    """A kubeconfig that asks the AWS command line for a token whenever it is used: it holds no credential itself.

    ``arn``: of the cluster, which names its region. ``authority``: the API's certificate authority in base64.
    """
    args = ["eks", "get-token", "--cluster-name", name, "--region", arn.split(":")[3], "--output", "json"]
    hint = "install the AWS command line: it makes the token"
    return by_command(name, endpoint, authority, command="aws", args=args, hint=hint)
