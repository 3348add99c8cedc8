"""Who can reach and read: endpoints, addresses, instance credentials, encryption, secrets, privileges."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from gpufabric.policy.groups import GKE_POOL, TEMPLATE
from gpufabric.policy.model import Resource, Setting, Settings, Stack, rule
from gpufabric.policy.tree import Node, NotCheckedError, Secret
from gpufabric.policy.workloads import KUBERNETES, namespace_of, pods_of

EKS_CLUSTER: Final = "aws:eks/cluster:Cluster"
GKE_CLUSTER: Final = "gcp:container/cluster:Cluster"
INSTANCE: Final = "gcp:compute/instance:Instance"


@rule(
    "no-public-ip",
    kinds=(TEMPLATE, GKE_CLUSTER, INSTANCE),
    severity="high",
    why="A public address is refused beside a second network interface (SkyPilot issue 8391 fell back to one EFA device), and "
    "lets the world knock at a node with credentials.",
    fix="AWS: leave `associatePublicIpAddress` out and use private subnets. Google: `enablePrivateNodes`, no `accessConfigs`.",
    tags=("AVD-AWS-0164",),
)
def no_public_ip(template: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Nodes have no public address."""
    if template.kind == GKE_CLUSTER:
        private = template.props.at("privateClusterConfig.enablePrivateNodes").flag()
        if not private and not template.props.at("networkConfig.defaultEnablePrivateNodes").flag():
            yield "privateClusterConfig.enablePrivateNodes is not true"
        return
    if template.kind == INSTANCE and not template.props["guestAccelerators"].present:
        return
    for each in template.props["networkInterfaces"].items():
        if template.kind == INSTANCE and each["accessConfigs"].present:
            yield f"{each.path}.accessConfigs is given"
    for each in template.props["networkInterfaces"].items():
        if each["associatePublicIpAddress"].flag():
            yield f"{each.path}.associatePublicIpAddress is true"


WORLD: Final = frozenset({"0.0.0.0/0", "::/0"})
_CLOSED_PORTS: Final = (22, 443, 6443, 988, 2049)
"""ssh, the Kubernetes API twice, Lustre, NFS."""


def _ports_open(place: Node, low: str, high: str, protocol: str) -> list[int]:
    """Which of the guarded ports a rule of a security group opens."""
    if place[protocol].text() in ("-1", "all"):
        return list(_CLOSED_PORTS)
    first, last = place[low].whole(), place[high].whole(65535)
    return [port for port in _CLOSED_PORTS if first <= port <= last]


@rule(
    "no-public-endpoint",
    kinds=(
        EKS_CLUSTER,
        GKE_CLUSTER,
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        "gcp:compute/firewall:Firewall",
    ),
    severity="critical",
    why="An API or ssh port that the whole world can try is tried within minutes.",
    fix="Name the networks that may call (`publicAccessCidrs`, `masterAuthorizedNetworksConfig`, a rule's source), or stay "
    "private.",
    tags=("CKV_AWS_39", "AVD-AWS-0040", "AVD-AWS-0041", "AwsSolutions-EKS1"),
)
def no_public_endpoint(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Neither the Kubernetes API nor ssh, Lustre or NFS is open to the whole internet."""
    props = resource.props
    if resource.kind == EKS_CLUSTER:
        access = props["vpcConfig"]
        public = access["endpointPublicAccess"]
        if not public.present or public.flag():
            cidrs = access["publicAccessCidrs"].texts()
            if not cidrs or WORLD & set(cidrs):
                yield "the API is open to the whole internet: no publicAccessCidrs" if not cidrs else "publicAccessCidrs: all"
    elif resource.kind == GKE_CLUSTER:
        yield from _gke_endpoint(props)
    elif resource.kind.startswith("gcp:"):
        yield from _firewall(props)
    else:
        yield from _security_group(resource)


def _gke_endpoint(props: Node) -> Iterator[str]:
    private = props.at("privateClusterConfig.enablePrivateEndpoint").flag()
    networks = props["masterAuthorizedNetworksConfig"]
    ip = props.at("controlPlaneEndpointsConfig.ipEndpointsConfig.enabled")
    if private or (ip.present and not ip.flag()) or ip.value is False:
        return
    blocks = [each["cidrBlock"].text() for each in networks["cidrBlocks"].items()]
    if networks.value is None:
        yield "the API is open to the whole internet: no masterAuthorizedNetworksConfig"
    elif WORLD & set(blocks):
        yield "masterAuthorizedNetworksConfig: all"


def _firewall(props: Node) -> Iterator[str]:
    if props["direction"].text() == "EGRESS" or not WORLD & set(props["sourceRanges"].texts()):
        return
    for each in props["allows"].items():
        protocol, ports = each["protocol"].text(), each["ports"].texts()
        opened = [port for port in _CLOSED_PORTS if not ports or any(_within(port, given) for given in ports)]
        if protocol in ("tcp", "all", "6") and opened:
            yield f"ports {', '.join(map(str, opened))} are open to the whole internet"


def _within(port: int, given: str) -> bool:
    first, _, last = given.partition("-")
    if not first.isdigit() or (last and not last.isdigit()):
        raise NotCheckedError(f"{given!r} is no port")
    return int(first) <= port <= int(last or first)


def _security_group(resource: Resource) -> Iterator[str]:
    props = resource.props
    if resource.kind.endswith(":SecurityGroup"):
        for each in props["ingress"].items():
            if WORLD & {*each["cidrBlocks"].texts(), *each["ipv6CidrBlocks"].texts()}:
                yield from _said(_ports_open(each, "fromPort", "toPort", "protocol"))
    elif resource.kind.endswith(":SecurityGroupRule"):
        if props["type"].text() == "ingress" and WORLD & {*props["cidrBlocks"].texts(), *props["ipv6CidrBlocks"].texts()}:
            yield from _said(_ports_open(props, "fromPort", "toPort", "protocol"))
    elif WORLD & {props["cidrIpv4"].text(), props["cidrIpv6"].text()}:
        yield from _said(_ports_open(props, "fromPort", "toPort", "ipProtocol"))


def _said(ports: list[int]) -> Iterator[str]:
    if ports:
        yield f"ports {', '.join(map(str, ports))} are open to the whole internet"


@rule(
    "instance-metadata",
    kinds=(TEMPLATE, GKE_POOL),
    severity="high",
    why="With version 1 of the metadata service any request that a pod can be talked into hands out the node's credentials.",
    fix="AWS: `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` (2 where pods need it). "
    "GKE: `workloadMetadataConfig.mode: GKE_METADATA`.",
    settings=(
        Setting(name="most_hops", kind="integer", default=2, least=1, means="largest hop limit of AWS's metadata service"),
    ),
    tags=("CKV_AWS_79", "AVD-AWS-0130"),
)
def instance_metadata(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Node credentials are served only by the guarded metadata service."""
    if resource.kind == GKE_POOL:
        mode = resource.props.at("nodeConfig.workloadMetadataConfig.mode").text()
        if resource.props.at("nodeConfig.machineType").present and mode != "GKE_METADATA":
            yield f"workloadMetadataConfig.mode is {mode or 'not given'}"
        return
    options = resource.props["metadataOptions"]
    if options["httpEndpoint"].text() == "disabled":
        return
    if options["httpTokens"].text() != "required":
        yield f"httpTokens is {options['httpTokens'].text() or 'not given'}"
    hops = options["httpPutResponseHopLimit"].whole()
    if hops > settings["most_hops"]:
        yield f"httpPutResponseHopLimit is {hops}; at most {settings['most_hops']}"


@rule(
    "encrypted",
    kinds=(TEMPLATE, EKS_CLUSTER, "aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:*"),
    severity="high",
    why="A disk or snapshot in the wrong hands should be noise.",
    fix="Set `encrypted: true` on each disk, `encryptionConfig` on the cluster; keys of your own where `customer_keys` "
    "asks for them.",
    settings=(Setting(name="customer_keys", kind="boolean", default=False, means="ask for a KMS key of your own, too"),),
    tags=("CKV_AWS_190", "CKV_AWS_58", "AVD-AWS-0039"),
)
def encrypted(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Disks, file systems and Kubernetes secrets are encrypted. Google encrypts all of these, S3 every bucket."""
    props = resource.props
    if resource.kind == EKS_CLUSTER:
        if not props["encryptionConfig"].present:
            yield "no encryptionConfig: Kubernetes secrets are not encrypted with a key of your own"
        return
    if resource.kind != TEMPLATE:
        if "fsx" not in resource.kind and not props["encrypted"].flag():
            yield "encrypted is not true"
        if settings["customer_keys"] and not props["kmsKeyId"].present:
            yield "no kmsKeyId"
        return
    disks = [each for each in props["blockDeviceMappings"].items() if each["ebs"].present]
    if not disks:
        raise NotCheckedError("no blockDeviceMappings: the account's default decides")
    for each in disks:
        if not each["ebs"]["encrypted"].flag():
            yield f"{each.path}.ebs.encrypted is not true"
        if settings["customer_keys"] and not each["ebs"]["kmsKeyId"].present:
            yield f"{each.path}.ebs has no kmsKeyId"


_NAMES: Final = re.compile(r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:$|_)", re.IGNORECASE)
_CONTENT: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|client-key-data:|\bAKIA[0-9A-Z]{16}\b|\bhf_[A-Za-z0-9]{30,}|\bghp_[A-Za-z0-9]{36}"
)


@rule(
    "secrets-not-plain",
    kinds=(KUBERNETES, TEMPLATE),
    severity="critical",
    why="What stands in a pod's environment, a ConfigMap or user data lies readable in the state, in the cluster and in logs.",
    fix="Put it into a Secret whose value is a Pulumi secret, and refer to that (`valueFrom.secretKeyRef`).",
)
def secrets_not_plain(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Tokens, passwords and keys are secrets, never plain values."""
    props = resource.props
    if resource.kind == TEMPLATE:
        yield from _holds_key(props["userData"], "userData")
        return
    kind = resource.kind.rpartition(":")[2]
    if kind == "Secret":
        for key in ("data", "stringData"):
            for name, value in _plain_entries(props, key):
                if value.present:
                    yield f"{key}.{name} is not marked as secret in the program"
    elif kind == "ConfigMap":
        for name, value in _plain_entries(props, "data"):
            if _NAMES.search(name) and value.present:
                yield f"data.{name} lies in a ConfigMap"
            yield from _holds_key(value, f"data.{name}")
    for pods in pods_of(resource):
        for container in pods.containers:
            for each in container["env"].items():
                name, value = each["name"].text(), each["value"]
                if _NAMES.search(name) and value.present and not value.unknown:
                    yield f"{container['name'].text() or 'a container'}: {name} has a plain value"


def _plain_entries(props: Node, key: str) -> Iterator[tuple[str, Node]]:
    """Entries that are known and whose value is not marked as secret."""
    raw = props.value.get(key) if isinstance(props.value, dict) else None
    if isinstance(raw, Secret):
        return
    for name, value in (raw or {}).items() if isinstance(raw, dict) else ():
        if not isinstance(value, Secret):
            yield name, props[key][name]


def _holds_key(place: Node, where: str) -> Iterator[str]:
    if not place.unknown and isinstance(place.value, str) and _CONTENT.search(place.value):
        yield f"{where} holds a key or token"


@rule(
    "privileged-pods",
    kinds=(KUBERNETES,),
    severity="medium",
    prod="advisory",
    why="A privileged pod, or one in the host's network, is root on a node with everybody's data.",
    fix="Keep such pods in the namespaces of `namespaces`; training pods need IPC_LOCK at most.",
    settings=(
        Setting(
            name="namespaces",
            kind="array",
            of="string",
            default=["kube-system", "gpu-operator", "nvidia-*", "gpufabric-*", "gke-*"],
            means="namespaces (patterns) in which drivers and gates may run so",
        ),
    ),
)
def privileged_pods(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """Privileged pods and pods in the host's namespaces run only where drivers and gates do."""
    found = list(pods_of(resource))
    if not found or any(fnmatchcase(namespace_of(resource), each) for each in settings["namespaces"]):
        return
    for pods in found:
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if pods.spec[key].flag():
                yield f"{key} in the namespace {pods.namespace}"
        for each in pods.containers:
            if each.at("securityContext.privileged").flag():
                yield f"{each['name'].text() or 'a container'} is privileged in the namespace {pods.namespace}"
