"""The network of one training cluster: how the block of a VPC is cut, and what is made in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from gpufabric.plan.aws.regions import region_of
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws.network import AwsNetworkWish, ExistingNetwork
from gpufabric.spec.cloud.blocks import PRIVATE_BLOCKS

_RESERVED = 5  # AWS keeps the first four addresses and the last one of each subnet (VPC user guide, Subnet CIDR blocks)
# A node has its own address and, with prefix delegation, blocks of 16 for its pods, of which the CNI holds one spare: one and
# three blocks serve 32 pods. Counted as 64, since blocks need 16 neighbours that are free and a subnet gets holes.
ADDRESSES_PER_GPU_NODE = 64
# A VPC takes a second block only of its first one's private range, or of the shared one (VPC user guide, VPC CIDR blocks).
*_RANGES, _SHARED = PRIVATE_BLOCKS
_RULE = "Amazon VPC user guide, VPC CIDR blocks, 2026-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetPlan:
    """One subnet. ``key`` is unique in the network and part of the resource's name."""

    key: str
    zone: str
    cidr: str
    public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """A network that is made (``subnets`` is not empty) or one that exists."""

    region: str
    zone: str
    cidr: str
    gpu_cidr: str | None
    subnets: tuple[SubnetPlan, ...]
    existing: ExistingNetwork | None
    tags: Mapping[str, str]

    @property
    def cluster_subnets(self) -> tuple[SubnetPlan, ...]:
        """The private subnets of the cluster's own interfaces and of its system nodes, the GPU zone's first."""
        return tuple(each for each in self.subnets if each.key.startswith("cluster-"))


def plan_network(spec: AwsNetworkWish, *, at: str = "") -> NetworkPlan:
    """The plan of a network; raises :class:`SpecError`. ``at``: path of the network's keys."""
    region = region_of(spec.zone)
    below = f"{at}." if at else ""
    if spec.existing:
        extra = sorted({"cidr", "gpu_cidr", "zones"} & spec.model_fields_set)
        if extra:
            reason = "the network exists, so that it has its blocks and zones"
            raise SpecError([Problem(f"{below}{key}", reason, "leave it out") for key in extra])
        return NetworkPlan(
            region=region, zone=spec.zone, cidr="", gpu_cidr=None, subnets=(), existing=spec.existing, tags=spec.tags
        )
    problems = [*_zones(spec, f"{below}zones"), *_blocks(spec, below)]
    if problems:
        raise SpecError(problems)
    subnets = _subnets(spec)
    if problem := _room(spec, subnets, below):
        raise SpecError([problem])
    return NetworkPlan(
        region=region, zone=spec.zone, cidr=spec.cidr, gpu_cidr=spec.gpu_cidr, subnets=subnets, existing=None, tags=spec.tags
    )


def cluster_zones(spec: AwsNetworkWish) -> tuple[str, ...]:
    """The zones of the cluster's interfaces, the GPU nodes' first. The default is a guess that only AWS can confirm."""
    if spec.zones:
        return (spec.zone, *(zone for zone in spec.zones if zone != spec.zone))
    other = next(letter for letter in "abc" if not spec.zone.endswith(letter))
    return (spec.zone, region_of(spec.zone) + other)


def _zones(spec: AwsNetworkWish, at: str) -> list[Problem]:
    problems = []
    for zone in spec.zones or ():
        if region_of(zone) != region_of(spec.zone):
            reason = f"{zone} is not in {region_of(spec.zone)}, the region of {spec.zone}"
            problems.append(Problem(at, reason, "write zones of one region"))
    if spec.zones and spec.zone not in spec.zones:
        reason = f"{spec.zone}, where the GPU nodes are, is not among them"
        problems.append(Problem(at, reason, f"add {spec.zone}: EKS puts nodes only where the cluster has a subnet"))
    return problems


def _blocks(spec: AwsNetworkWish, below: str) -> list[Problem]:
    if spec.gpu_cidr is None:
        return []
    first, second = IPv4Network(spec.cidr), IPv4Network(spec.gpu_cidr)
    at = f"{below}gpu_cidr"
    if first.overlaps(second):
        return [Problem(at, f"{second} overlaps cidr ({first})", f"write for example {_next(first)}")]
    (of_first, of_second) = (next((r for r in _RANGES if block.subnet_of(r)), None) for block in (first, second))
    if of_first != of_second and not second.subnet_of(_SHARED):
        reason = f"{second} is not of the same private range as cidr ({first})"
        return [Problem(at, reason, f"write for example {_next(first)}, or a block of {_SHARED}", _RULE)]
    return []


def _next(block: IPv4Network) -> IPv4Network:
    """The /16 beside a block, of the same private range: what an error offers."""
    wide = block.supernet(new_prefix=16)
    beside = IPv4Network((int(wide.network_address) + wide.num_addresses, 16))
    same = any(wide.subnet_of(each) and beside.subnet_of(each) for each in _RANGES)
    return beside if same else IPv4Network("100.64.0.0/16")


def _subnets(spec: AwsNetworkWish) -> tuple[SubnetPlan, ...]:
    """The upper half is for GPU nodes; of the lower one's eighths, three are for the cluster, one is public, four stay free.

    Eighths are fixed places, so that a zone that is added moves no other subnet.
    """
    lower, upper = IPv4Network(spec.cidr).subnets()
    eighths = list(lower.subnets(prefixlen_diff=3))
    private = [
        SubnetPlan(key=f"cluster-{zone}", zone=zone, cidr=str(block))
        for zone, block in zip(cluster_zones(spec), eighths[:3], strict=False)
    ]
    gpu = SubnetPlan(key="gpu", zone=spec.zone, cidr=spec.gpu_cidr or str(upper))
    public = SubnetPlan(key="public", zone=spec.zone, cidr=str(eighths[3]), public=True)
    return (*private, gpu, public)


def _room(spec: AwsNetworkWish, subnets: tuple[SubnetPlan, ...], below: str) -> Problem | None:
    (gpu,) = [IPv4Network(each.cidr) for each in subnets if each.key == "gpu"]
    most = (gpu.num_addresses - _RESERVED) // ADDRESSES_PER_GPU_NODE
    if spec.gpu_nodes <= most:
        return None
    key = "gpu_cidr" if spec.gpu_cidr else "cidr"
    reason = f"{gpu} has room for {most} GPU nodes ({ADDRESSES_PER_GPU_NODE} addresses each), {spec.gpu_nodes} are asked for"
    widest = IPv4Network("10.0.0.0/16").num_addresses // ADDRESSES_PER_GPU_NODE - 1
    if spec.gpu_nodes > widest:
        fix = f"a subnet holds at most {widest}: split the cluster, or bring a network with network.existing"
    elif spec.gpu_cidr:
        fix = "write a larger block, at most a /16"
    else:
        fix = f"write gpu_cidr: {_next(IPv4Network(spec.cidr))}, a block for GPU nodes alone"
    return Problem(f"{below}{key}", reason, fix)
