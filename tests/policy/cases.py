"""What each rule passes, what it finds and in which words, and what it cannot check: fixtures by the rule's name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufabric.mounts.contract import HOST_ROOT
from gpufabric.policy import Resource
from gpufabric.policy.model import STACK
from gpufabric.policy.tree import UNKNOWN, Secret
from tests.policy.seen import made

TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
SUBNET, PLACEMENT = "aws:ec2/subnet:Subnet", "aws:ec2/placementGroup:PlacementGroup"
RESERVATION, LUSTRE = "aws:ec2/capacityReservation:CapacityReservation", "aws:fsx/lustreFileSystem:LustreFileSystem"
SECURITY_GROUP, CLUSTER = "aws:ec2/securityGroup:SecurityGroup", "aws:eks/cluster:Cluster"
INGRESS, EGRESS = (f"aws:vpc/securityGroup{each}Rule:SecurityGroup{each}Rule" for each in ("Ingress", "Egress"))
BUCKET, HELM = "aws:s3/bucket:Bucket", "kubernetes:helm.sh/v3:Release"
POOL = "gcp:container/nodePool:NodePool"
JOB, POD = "kubernetes:batch/v1:Job", "kubernetes:core/v1:Pod"

GKE, GCP_LUSTRE = "gcp:container/cluster:Cluster", "gcp:lustre/instance:Instance"
NETWORK, FIREWALL = "gcp:compute/network:Network", "gcp:compute/firewall:Firewall"

Program = list[Resource]
Links = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Cases:
    """``fails``: a program and the one thing that is said of it. ``unread``: a program and why it was not checked."""

    passes: list[Program]
    fails: list[tuple[Program, str]]
    unread: list[tuple[Program, str]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def nic(card: int, device: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind, **more}


P4D = [nic(0, 0, "interface"), nic(0, 1, "efa-only"), *(nic(card, 0, "efa-only") for card in (1, 2, 3))]
OLDER = [nic(0, 0, "efa"), *(nic(card, 1, "efa") for card in (1, 2, 3))]
DISK = [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true"}}]


def template(name: str = "template", links: Links | None = None, **props: Any) -> Resource:
    return made(TEMPLATE, name, links=links, **{"instanceType": "p4d.24xlarge", "networkInterfaces": P4D, **props})


def group(name: str = "group", nodes: int = 2, links: Links | None = None, **props: Any) -> Resource:
    asked = {"launchTemplate": {"id": UNKNOWN, "version": UNKNOWN}, "subnetIds": [UNKNOWN], "clusterName": UNKNOWN}
    sizes = {"desiredSize": nodes, "minSize": nodes, "maxSize": nodes}
    linked = {"launchTemplate": ("template",), "subnetIds": ("a",), "clusterName": ("cluster",), **(links or {})}
    provider = {"region": "us-east-1"}
    return made(GROUP, name, links=linked, provider=provider, **{**asked, "scalingConfig": sizes, **props})


def fabric(*more: Resource, **props: Any) -> Program:
    """Two p4d with EFA in one zone, and more."""
    return [template(), group(**props), subnet("a"), *more]


def subnet(zone: str) -> Resource:
    return made(SUBNET, zone, availabilityZone=f"us-east-1{zone}")


def pods(
    name: str = "job", *, copies: int = 2, container: dict[str, Any] | None = None, namespace: Any = "ml", **spec: Any
) -> Resource:
    main = {"name": "main", "image": "registry.example/train:1", **(container or {})}
    body = {"parallelism": copies, "template": {"spec": {"containers": [main], **spec}}}
    return made(JOB, name, kind="Job", metadata={"name": name, "namespace": namespace}, spec=body)


def asks(**resources: Any) -> dict[str, Any]:
    return {"resources": {"limits": resources}}


def mounts(path: str, volume: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a job that mounts a volume at a path."""
    return {
        "container": {"volumeMounts": [{"name": "it", "mountPath": path}], **asks(**{"nvidia.com/gpu": 8})},
        "volumes": [{"name": "it", **volume}],
    }


def rclone(*words: str, limit: str = "100Gi", grace: int = 600) -> Resource:
    return pods(
        container={
            "command": ["rclone", "mount", "store:bucket", "/data", "--vfs-cache-mode=writes", "--cache-dir=/cache", *words],
            "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
        },
        volumes=[{"name": "cache", "emptyDir": {"sizeLimit": limit}}],
        terminationGracePeriodSeconds=grace,
    )


def open_to_itself(name: str = "sg") -> Program:
    both = {"securityGroupId": (name,), "referencedSecurityGroupId": (name,)}
    return [
        made(SECURITY_GROUP, name),
        made(INGRESS, "in", links=both, ipProtocol="-1"),
        made(EGRESS, "out", links=both, ipProtocol="-1"),
    ]


def pool(
    name: str = "pool",
    *,
    networks: int | list[Any] = 0,
    links: Links | None = None,
    node: dict[str, Any] | None = None,
    **props: Any,
) -> Resource:
    """A pool of two A3 Mega with so many additional networks."""
    config = {"machineType": "a3-megagpu-8g", **(node or {})}
    listed = (
        [{"network": f"n{each}", "subnetwork": f"s{each}"} for each in range(networks)]
        if isinstance(networks, int)
        else networks
    )
    more = {"networkConfig": {"additionalNodeNetworkConfigs": listed}} if listed else {}
    given = {"location": "us-east4", "nodeLocations": ["us-east4-a"], "nodeCount": 2, "nodeConfig": config, **more}
    return made(POOL, name, links=links, **{**given, **props})


IN_GROUP = {"networkInterfaces": ("sg",)}
BLOCK: dict[str, Any] = {
    "instanceMarketOptions": {"marketType": "capacity-block"},
    "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-0123"}},
}
RESERVED: dict[str, Any] = {"capacityReservationSpecification": BLOCK["capacityReservationSpecification"]}
GATE = made("gpufabric:index:NcclValidation", "gate")
FLAVOR = "kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor"
VERSIONS = "aws:s3/bucketVersioning:BucketVersioning"
VERSIONED = made(VERSIONS, "v", links={"bucket": ("it",)}, versioningConfiguration={"status": "Enabled"})
SPOT = group(capacityType="SPOT")

CASES: dict[str, Cases] = {
    "nic-layout": Cases(
        passes=[[template()], [template(networkInterfaces=OLDER)], [template(networkInterfaces=P4D[:1])]],
        fails=[
            (
                [template(networkInterfaces=[*P4D[:2], *(nic(card, card, "efa-only") for card in (1, 2, 3))])],
                "p4d.24xlarge: unexpected: card 1 device 1 efa-only, card 2 device 2 efa-only, card 3 device 3 efa-only",
            ),
            ([template(networkInterfaces=P4D[:4])], "p4d.24xlarge: 3 EFA interfaces; p4d.24xlarge has 4"),
            (
                [template(networkInterfaces=[nic(0, 0, "efa-only"), *P4D[2:]])],
                (
                    "p4d.24xlarge: the primary interface (card 0, device 0) is efa-only; it has the node's address and must be "
                    "interface"
                ),
            ),
            (
                [
                    template(
                        instanceType="p6-b300.48xlarge",
                        networkInterfaces=[nic(0, 0, "efa"), *(nic(card, 0, "efa-only") for card in range(1, 16))],
                    )
                ],
                "p6-b300.48xlarge: EFA on card 0, which has none on p6-b300.48xlarge",
            ),
        ],
        unread=[
            ([template(instanceType=UNKNOWN)], "instanceType is not known before the update"),
            ([template(instanceType="p9.48xlarge")], "machine p9.48xlarge stands in no table"),
            ([template(instanceType=None)], "instanceType is not in the launch template"),
        ],
    ),
    "nic-no-top-level-sg": Cases(
        passes=[[template()], [template(networkInterfaces=None, vpcSecurityGroupIds=["sg-1"])]],
        fails=[([template(vpcSecurityGroupIds=[UNKNOWN])], "vpcSecurityGroupIds beside networkInterfaces")],
    ),
    "efa-sg-self": Cases(
        passes=[
            [template(links=IN_GROUP), *open_to_itself()],
            [
                template(links=IN_GROUP),
                made(
                    SECURITY_GROUP,
                    "sg",
                    ingress=[{"protocol": "-1", "self": True, "fromPort": 0, "toPort": 0}],
                    egress=[{"protocol": "-1", "self": True, "fromPort": 0, "toPort": 0}],
                ),
            ],
        ],
        fails=[
            (
                [template(links=IN_GROUP), *open_to_itself()[:2]],
                "no group of the EFA interfaces is open to itself: sg lacks all traffic to itself",
            ),
            (
                [
                    template(links=IN_GROUP),
                    made(SECURITY_GROUP, "sg", egress=[{"protocol": "-1", "cidrBlocks": ["0.0.0.0/0"]}]),
                ],
                "no group of the EFA interfaces is open to itself: sg lacks all traffic from and to itself",
            ),
        ],
        unread=[([template()], "its security groups are not part of this program")],
    ),
    "fabric-tier-honest": Cases(
        passes=[
            fabric(),
            [template(networkInterfaces=None), group(nodes=1), subnet("a")],
            [template(networkInterfaces=None), group(labels={"gpufabric.dev/network-tier": "standard"})],
            [template(networkInterfaces=None, tags={"gpufabric.dev/network-tier": "standard"}), group()],
        ],
        fails=[
            (
                [template(networkInterfaces=None), group()],
                "2 x p4d.24xlarge without their fabric: 4 devices of efa-v1 are left unused",
            ),
            ([pool()], "2 x a3-megagpu-8g without their fabric: 8 devices of gpudirect-tcpxo are left unused"),
        ],
        unread=[
            ([group(links={"launchTemplate": ()})], "its launch template is not part of this program"),
            (
                [template(instanceType="p9.2xlarge"), group(amiType="AL2023_x86_64_NVIDIA")],
                "machine p9.2xlarge stands in no table",
            ),
        ],
    ),
    "pod-asks-for-fabric": Cases(
        passes=[
            fabric(pods(container=asks(**{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}))),
            fabric(pods(copies=1, container=asks(**{"nvidia.com/gpu": 8}))),
            fabric(pods(container=asks(**{"nvidia.com/gpu": 1}))),
        ],
        fails=[
            (
                fabric(pods(container=asks(**{"nvidia.com/gpu": "8"}))),
                "2 pods of 8 GPUs ask for 0 vpc.amazonaws.com/efa; p4d.24xlarge has 4",
            )
        ],
        unread=[
            (
                fabric(pods(container=asks(**{"nvidia.com/gpu": UNKNOWN}))),
                "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu is not known before the update",
            )
        ],
    ),
    "fabric-groups-single-zone": Cases(
        passes=[fabric(), [template(networkInterfaces=None), group(links={"subnetIds": ("a", "b")}), subnet("a"), subnet("b")]],
        fails=[
            (
                fabric(subnet("b"), subnetIds=[UNKNOWN, UNKNOWN], links={"subnetIds": ("a", "b")}),
                "nodes in 2 zones: us-east-1a, us-east-1b",
            )
        ],
        unread=[
            (
                fabric(subnetIds=["subnet-1", "subnet-2"], links={"subnetIds": ()}),
                "the zones of its subnets are not part of this program",
            )
        ],
    ),
    "placement-vs-reservation": Cases(
        passes=[
            [template(placement={"groupName": UNKNOWN}, links={"placement": ("pg",)}), made(PLACEMENT, "pg")],
            [template(**RESERVED)],
            [
                template(
                    placement={"groupName": UNKNOWN},
                    **RESERVED,
                    links={"placement": ("pg",), "capacityReservationSpecification": ("cr",)},
                ),
                made(PLACEMENT, "pg"),
                made(RESERVATION, "cr", links={"placementGroupArn": ("pg",)}),
            ],
        ],
        fails=[
            ([template(placement={"groupName": "mine"}, **BLOCK)], "a placement group beside a capacity block"),
            (
                [template(placement={"groupName": UNKNOWN}, links={"placement": ("pg",)}, **RESERVED), made(PLACEMENT, "pg")],
                "the placement group pg is made here and the reservation is not: it cannot have been made in it",
            ),
            (
                [
                    template(placement={"groupName": "mine"}, links={"capacityReservationSpecification": ("cr",)}, **RESERVED),
                    made(RESERVATION, "cr"),
                ],
                "a placement group that the reservation cr was not made in",
            ),
        ],
        unread=[
            (
                [template(placement={"groupName": "mine"}, **RESERVED)],
                "whether the reservation was made in the placement group is not part of this program",
            )
        ],
    ),
    "capacity-block-market-type": Cases(
        passes=[fabric(), [template(**BLOCK), group(capacityType="CAPACITY_BLOCK"), subnet("a")]],
        fails=[
            (
                [template(), group(capacityType="CAPACITY_BLOCK")],
                (
                    "instanceMarketOptions.marketType of the launch template is not given\n"
                    "the launch template names no capacity reservation"
                ),
            ),
            ([template(**BLOCK), group()], "capacityType is not given; its launch template buys from a capacity block"),
            (
                [template(**BLOCK), group(nodes=65, capacityType="CAPACITY_BLOCK", subnetIds=["subnet-1", "subnet-2"])],
                "maxSize 65; a capacity block holds at most 64 instances\n2 subnets; a capacity block lies in one zone",
            ),
        ],
        unread=[
            (
                [group(capacityType="CAPACITY_BLOCK", links={"launchTemplate": ()})],
                "its launch template is not part of this program",
            )
        ],
    ),
    "capacity-block-protected": Cases(
        passes=[[made("aws:ec2/capacityBlockReservation:CapacityBlockReservation", protect=True)]],
        fails=[([made("aws:ec2/capacityBlockReservation:CapacityBlockReservation")], "the purchase is not protected")],
    ),
    "reserved-no-surge": Cases(
        passes=[fabric(), [template(**RESERVED), group(updateConfig={"updateStrategy": "MINIMAL"})]],
        fails=[
            ([template(**RESERVED), group()], "updateStrategy is DEFAULT, which starts new nodes first"),
            (
                [pool(node={"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION", "values": ["r"]}})],
                "maxSurge is 1; reserved capacity has no node to spare",
            ),
        ],
    ),
    "launch-template-exclusive": Cases(
        passes=[fabric(), [template(imageId="ami-1"), group()]],
        fails=[
            (fabric(instanceTypes=["p4d.24xlarge"]), "the instance type stands in the launch template and in instanceTypes"),
            ([template(instanceType=None), group()], "no instance type in either place: EKS would start t3.medium"),
            (
                [template(imageId="ami-1"), group(amiType="AL2023_x86_64_NVIDIA", diskSize=100)],
                (
                    "amiType beside imageId of the launch template\n"
                    "diskSize beside a launch template, where its own disks and groups belong"
                ),
            ),
            (
                [template(networkInterfaces=[nic(0, 0, "interface", subnetId="subnet-1")]), group()],
                "networkInterfaces[0].subnetId in the launch template; the group's subnetIds decide",
            ),
        ],
    ),
    "gpu-image": Cases(
        passes=[fabric(amiType="AL2023_x86_64_NVIDIA"), fabric(amiType="BOTTLEROCKET_x86_64_NVIDIA"), fabric()],
        fails=[
            (fabric(amiType="AL2023_ARM_64_NVIDIA"), "AL2023_ARM_64_NVIDIA is for arm64; p4d.24xlarge is x86_64"),
            (fabric(amiType="AL2023_x86_64_STANDARD"), "AL2023_x86_64_STANDARD holds no GPU driver"),
            (
                fabric(amiType="AL2_x86_64_GPU"),
                "AL2_x86_64_GPU: AWS makes no Amazon Linux 2 images for EKS since 2025-11-26",
            ),
        ],
    ),
    "one-driver-source": Cases(
        passes=[
            fabric(made(HELM, chart="gpu-operator", values={})),
            fabric(
                made(HELM, chart="gpu-operator", values={"driver": {"enabled": False}, "toolkit": {"enabled": False}}),
                amiType="AL2023_x86_64_NVIDIA",
            ),
        ],
        fails=[
            (
                fabric(
                    made(HELM, chart="oci://ghcr.io/nvidia/gpu-operator", values={"toolkit": {"enabled": False}}),
                    amiType="AL2023_x86_64_NVIDIA",
                ),
                "driver.enabled is not false, and AL2023_x86_64_NVIDIA of group brings the driver",
            )
        ],
        unread=[([made(HELM, chart=UNKNOWN)], "chart is not known before the update")],
    ),
    "gpu-taint-and-label": Cases(
        passes=[fabric(taints=[{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}], labels={"pool": "gpu"})],
        fails=[(fabric(), "no taint nvidia.com/gpu\nno label to select it by")],
    ),
    "pinned-versions": Cases(
        passes=[
            fabric(releaseVersion="1.35.6-20260714"),
            [template(imageId="ami-1"), group()],
            [made(CLUSTER, version="1.35")],
            [made(HELM, chart="kueue", version="0.17.0")],
            [pods(container={"image": "registry.example:5000/train@sha256:00"})],
        ],
        fails=[
            (fabric(), "neither releaseVersion nor an image of its own: a repaired node may boot another image"),
            (
                [
                    template(imageId="resolve:ssm:/aws/service/ami-al2023"),
                    group(launchTemplate={"id": "lt", "version": "$Latest"}),
                ],
                "imageId resolve:ssm:/aws/service/ami-al2023 is resolved anew at every launch\nlaunch template version $Latest",
            ),
            ([made(CLUSTER)], "no Kubernetes version: AWS takes its newest"),
            ([made(CLUSTER, version="1.29")], "Kubernetes 1.29; standard support begins at 1.33"),
            (
                [pool(links={"cluster": ("c",)}, management={"autoUpgrade": True}), made(GKE, "c")],
                "autoUpgrade, and the cluster has no maintenance exclusion: GKE drains the nodes when it likes",
            ),
            ([made(HELM, chart="kueue")], "chart kueue without a version"),
            ([pods(container={"image": "registry.example:5000/train"})], "image registry.example:5000/train has no tag"),
            ([pods(container={"image": "train:latest"})], "image train:latest has the tag latest"),
        ],
        unread=[
            ([made(CLUSTER, version="1.99")], "Kubernetes 1.99 stands in no table; known: 1.33, 1.34, 1.35, 1.36"),
            (
                [pods(container={"image": UNKNOWN})],
                "spec.template.spec.containers[0].image is not known before the update",
            ),
        ],
    ),
    "gke-fabric-networks": Cases(
        passes=[
            [pool(networks=8)],
            [pool(networks=5, node={"machineType": "a3-highgpu-8g"})],
            [pool()],
            [pool(networkConfig={"acceleratorNetworkProfile": "auto"})],
        ],
        fails=[
            ([pool(networks=9)], "9 additional networks; a3-megagpu-8g needs 8"),
            (
                [pool(networks=3, node={"machineType": "a3-highgpu-8g"})],
                "3 additional networks; a3-highgpu-8g needs at least 4",
            ),
            ([pool(networks=8, node={"machineType": "a3-ultragpu-8g"})], "8 additional networks; a3-ultragpu-8g needs 9"),
            (
                [pool(networks=[{"network": "n", "subnetwork": f"s{each}"} for each in range(8)])],
                "a3-megagpu-8g needs a VPC for each card",
            ),
            (
                [pool(networkConfig={"acceleratorNetworkProfile": "auto", "additionalNodeNetworkConfigs": [{"network": "n"}]})],
                "additional networks beside acceleratorNetworkProfile, with which GKE makes them itself",
            ),
        ],
        unread=[
            (
                [pool(networks=[{"network": UNKNOWN, "subnetwork": f"s{each}"} for each in range(8)])],
                "networkConfig.additionalNodeNetworkConfigs[0].network is not known before the update",
            )
        ],
    ),
    "gke-multi-networking": Cases(
        passes=[
            [
                pool(networks=8, links={"cluster": ("c",)}),
                made(GKE, "c", enableMultiNetworking=True, datapathProvider="ADVANCED_DATAPATH"),
            ],
            [pool(links={"cluster": ("c",)}), made(GKE, "c")],
        ],
        fails=[
            (
                [pool(networks=8, links={"cluster": ("c",)}), made(GKE, "c")],
                "additional networks, and enableMultiNetworking of the cluster c is not true",
            ),
            (
                [made(GKE, "c", enableMultiNetworking=True, networkPolicy={"enabled": True})],
                "enableMultiNetworking with datapathProvider (not given)\nenableMultiNetworking with networkPolicy (Calico)",
            ),
        ],
    ),
    "gke-capacity": Cases(
        passes=[
            [pool()],
            [
                pool(
                    nodeCount=None,
                    node={"flexStart": True, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
                    management={"autoRepair": False},
                )
            ],
        ],
        fails=[
            (
                [pool(node={"spot": True, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}})],
                "spot beside a reservation",
            ),
            (
                [pool(node={"flexStart": True}, management={"autoRepair": True})],
                (
                    "flex-start without reservationAffinity NO_RESERVATION\nflex-start with autoRepair\n"
                    "flex-start with a fixed nodeCount"
                ),
            ),
            (
                [
                    pool(
                        nodeCount=0,
                        node={"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
                        queuedProvisioning={"enabled": True},
                        placementPolicy={"type": "COMPACT"},
                        management={"autoUpgrade": True},
                    )
                ],
                "queued provisioning with autoUpgrade\nqueued provisioning with a COMPACT placement",
            ),
            (
                [pool(placementPolicy={"type": "COMPACT"}, nodeLocations=["us-east4-a", "us-east4-b"])],
                "a COMPACT placement over several zones",
            ),
        ],
    ),
    "gke-disks": Cases(
        passes=[[pool(node={"diskType": "pd-ssd", "ephemeralStorageLocalSsdConfig": {"localSsdCount": 16}})], [pool()]],
        fails=[
            (
                [pool(node={"machineType": "a4-highgpu-8g", "diskType": "pd-ssd"})],
                "a4-highgpu-8g does not boot from pd-ssd; it does from hyperdisk-balanced",
            ),
            (
                [pool(node={"ephemeralStorageLocalSsdConfig": {"localSsdCount": 8}})],
                "ephemeralStorageLocalSsdConfig: 8 local SSDs; a3-megagpu-8g comes with 16",
            ),
        ],
    ),
    "rdma-network": Cases(
        passes=[
            [
                made(NETWORK, "rdma", networkProfile="us-east4-a-vpc-roce", mtu=8896, autoCreateSubnetworks=False),
                pool(networks=9, links={"networkConfig": ("rdma",)}, node={"machineType": "a3-ultragpu-8g"}),
            ],
            [made(FIREWALL, "f", links={"network": ("plain",)}), made(NETWORK, "plain")],
        ],
        fails=[
            (
                [
                    made(NETWORK, "rdma", networkProfile="us-east4-b-vpc-roce", mtu=1460),
                    pool(networks=9, links={"networkConfig": ("rdma",)}, node={"machineType": "a3-ultragpu-8g"}),
                ],
                "network profile us-east4-b-vpc-roce; the nodes of pool are in us-east4-a\nmtu 1460; a3-ultragpu-8g wants 8896",
            ),
            (
                [
                    made(FIREWALL, "f", links={"network": ("rdma",)}),
                    made(NETWORK, "rdma", networkProfile="us-east4-a-vpc-roce", autoCreateSubnetworks=True),
                ],
                "a firewall rule on rdma, whose network profile takes none\na network profile with autoCreateSubnetworks",
            ),
        ],
    ),
    "nccl-gate-present": Cases(
        passes=[
            fabric(GATE),
            fabric(pods(container={"command": ["mpirun", "/opt/nccl-tests/build/all_reduce_perf"]})),
            [template(networkInterfaces=None), group()],
            [GATE, made(FLAVOR, kind="ResourceFlavor", spec={"nodeLabels": {"gpufabric.dev/validated": "pass"}})],
            [
                GATE,
                made(FLAVOR, kind="ResourceFlavor", metadata={"name": "burst"}, spec={"nodeLabels": {"pool": "burst"}}),
                made(
                    "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
                    "q",
                    kind="ClusterQueue",
                    spec={
                        "admissionChecksStrategy": {"admissionChecks": [{"name": "dws"}]},
                        "resourceGroups": [{"flavors": [{"name": "burst"}]}],
                    },
                ),
            ],
        ],
        fails=[
            (fabric(), "2 x p4d.24xlarge and nothing that measures their network"),
            (
                [GATE, made(FLAVOR, kind="ResourceFlavor", spec={"nodeLabels": {"pool": "gpu"}})],
                "the queue's flavor does not ask for the label gpufabric.dev/validated: nodes that no gate has passed get jobs",
            ),
        ],
    ),
    "health-agent-present": Cases(
        passes=[
            fabric(
                made("aws:eks/addon:Addon", "agent", addonName="eks-node-monitoring-agent"), nodeRepairConfig={"enabled": True}
            ),
            fabric(pods(container={"image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4"})),
            [pool(node={"flexStart": True}, management={"autoRepair": False})],
        ],
        fails=[
            ([pool()], "management.autoRepair is not true, and no health agent is in the program"),
            (fabric(made(CLUSTER, "cluster")), "nodeRepairConfig.enabled is not true"),
            (
                fabric(made(CLUSTER, "cluster"), nodeRepairConfig={"enabled": True}),
                "the add-on eks-node-monitoring-agent is missing",
            ),
        ],
        unread=[(fabric(), "its cluster and add-ons are not part of this program")],
    ),
    "metrics-present": Cases(
        passes=[
            fabric(made(HELM, chart="dcgm-exporter")),
            fabric(made("aws:eks/addon:Addon", "agent", addonName="amazon-cloudwatch-observability")),
        ],
        fails=[(fabric(made(CLUSTER, "cluster")), "no DCGM exporter, GPU operator or cloud add-on for GPU metrics")],
        unread=[(fabric(), "its cluster is not part of this program")],
    ),
    "checkpoint-durable": Cases(
        passes=[
            [pods(**mounts("/checkpoints", {"persistentVolumeClaim": {"claimName": "ckpt"}}))],
            [pods(**mounts("/checkpoints", {"hostPath": {"path": f"{HOST_ROOT}/ckpt"}}))],
            [pods(**mounts("/scratch", {"emptyDir": {}}))],
        ],
        fails=[
            ([pods(**mounts("/data/ckpt", {"emptyDir": {}}))], "/data/ckpt is an emptyDir, gone with its pod"),
            (
                [pods(**mounts("/checkpoints", {"hostPath": {"path": "/mnt/k8s-disks/0"}}))],
                "/checkpoints is the node's own /mnt/k8s-disks/0, gone with the node",
            ),
        ],
        unread=[
            (
                [pods(**mounts("/checkpoints", {"hostPath": {"path": UNKNOWN}}))],
                "spec.template.spec.volumes[0].hostPath.path is not known before the update",
            )
        ],
    ),
    "checkpoint-can-rename": Cases(
        passes=[
            [
                pods(**mounts("/checkpoints", {"persistentVolumeClaim": {"claimName": "ckpt"}})),
                made(
                    "kubernetes:core/v1:PersistentVolumeClaim", "c", metadata={"name": "ckpt"}, spec={"volumeName": "express"}
                ),
                made(
                    "kubernetes:core/v1:PersistentVolume",
                    "v",
                    metadata={"name": "express"},
                    spec={"csi": {"driver": "s3.csi.aws.com", "volumeAttributes": {"bucketName": "a--use2-az1--x-s3"}}},
                ),
            ]
        ],
        fails=[
            (
                [
                    pods(**mounts("/checkpoints", {"persistentVolumeClaim": {"claimName": "ckpt"}})),
                    made(
                        "kubernetes:core/v1:PersistentVolumeClaim",
                        "c",
                        metadata={"name": "ckpt"},
                        spec={"volumeName": "plain"},
                    ),
                    made(
                        "kubernetes:core/v1:PersistentVolume",
                        "v",
                        metadata={"name": "plain"},
                        spec={"csi": {"driver": "s3.csi.aws.com", "volumeAttributes": {"bucketName": "acme"}}},
                    ),
                ],
                "/checkpoints is the bucket acme through Mountpoint, which cannot rename there",
            )
        ],
    ),
    "checkpoint-retained": Cases(
        passes=[
            [made(BUCKET, bucket="acme-checkpoints"), VERSIONED],
            [made(BUCKET, bucket="acme-logs", forceDestroy=True)],
            [made(LUSTRE, protect=True)],
            [made(LUSTRE, deploymentType="SCRATCH_2")],
            [made("gcp:storage/bucket:Bucket", name="ckpt", forceDestroy=False)],
        ],
        fails=[
            ([made(BUCKET, bucket="acme-weights")], "versioning is not on"),
            (
                [made(BUCKET, bucket="acme-ckpt", forceDestroy=True), VERSIONED],
                "forceDestroy is true: a destroy deletes all objects",
            ),
            ([made(LUSTRE, deploymentType="PERSISTENT_2")], "the file system is not protected"),
            (
                [made("gcp:storage/bucket:Bucket", name="ckpt", softDeletePolicy={"retentionDurationSeconds": 0})],
                "neither versioning nor soft delete",
            ),
        ],
    ),
    "cache-fits-disk": Cases(
        passes=[[rclone("--vfs-cache-max-size=90G")], [pods(container={"command": ["rclone", "copy", "a", "b"]})]],
        fails=[
            ([rclone()], "no --vfs-cache-max-size: the cache grows until the disk is full"),
            ([rclone("--vfs-cache-max-size", "110G")], "a cache of 112640 MiB on a volume of 102400 MiB"),
            (
                [rclone("--vfs-cache-max-size=50G", grace=30)],
                "30 s of grace; 51200 MiB at 200 MB/s take 268 s to upload",
            ),
        ],
    ),
    "storage-same-zone": Cases(
        passes=[
            fabric(made(LUSTRE, links={"subnetIds": ("a",)})),
            fabric(made(BUCKET, provider={"region": "us-east-1"})),
            [made(LUSTRE, links={"subnetIds": ("b",)}), subnet("b")],
        ],
        fails=[
            (
                fabric(made(LUSTRE, links={"subnetIds": ("b",)}), subnet("b")),
                "in us-east-1b; the GPU nodes are in us-east-1a",
            ),
            (fabric(made(BUCKET, provider={"region": "eu-west-1"})), "in eu-west-1; the GPU nodes are in us-east-1"),
        ],
        unread=[(fabric(made(LUSTRE, subnetIds="subnet-1")), "its subnet is not part of this program")],
    ),
    "filesystem-size": Cases(
        passes=[
            [made(LUSTRE, deploymentType="PERSISTENT_2", perUnitStorageThroughput=125, storageCapacity=1200)],
            [made(LUSTRE, deploymentType="SCRATCH_2", storageCapacity=1200)],
        ],
        fails=[
            (
                [made(LUSTRE, deploymentType="PERSISTENT_2", perUnitStorageThroughput=250, storageCapacity=5000)],
                "5000 GiB at 250 MB/s per TiB; the nearest that can be bought: 4800 or 7200",
            ),
            (
                [
                    made(
                        LUSTRE,
                        deploymentType="PERSISTENT_2",
                        efaEnabled=True,
                        metadataConfiguration={"mode": "AUTOMATIC"},
                        perUnitStorageThroughput=1000,
                        storageCapacity=2400,
                    )
                ],
                "2400 GiB at 1000 MB/s per TiB with EFA; the nearest that can be bought: 4800",
            ),
            (
                [made(LUSTRE, efaEnabled=True, storageCapacity=1200)],
                "efaEnabled with SCRATCH_1; only PERSISTENT_2 serves EFA\nefaEnabled without metadataConfiguration",
            ),
            (
                [made(LUSTRE, deploymentType="PERSISTENT_2", perUnitStorageThroughput=200, storageCapacity=1200)],
                "perUnitStorageThroughput 200; sold are 125, 250, 500, 1000",
            ),
            (
                [made(GCP_LUSTRE, perUnitStorageThroughput="1000", capacityGib="10000")],
                "10000 GiB at 1000 MB/s per TiB; the nearest that can be bought: 9000 or 18000",
            ),
        ],
        unread=[
            (
                [made(LUSTRE, deploymentType="PERSISTENT_2", perUnitStorageThroughput=250, storageCapacity=UNKNOWN)],
                "storageCapacity is not known before the update",
            )
        ],
    ),
    "fs-throughput-per-gpu": Cases(
        passes=[
            fabric(made(LUSTRE, storageCapacity=9600, perUnitStorageThroughput=250)),
            [made(LUSTRE, storageCapacity=1200, perUnitStorageThroughput=125)],
        ],
        fails=[
            (
                fabric(made(LUSTRE, storageCapacity=1200, perUnitStorageThroughput=125)),
                "1200 GiB at 125 MB/s per TiB give 9 MB/s to each of 16 GPUs",
            )
        ],
        unread=[(fabric(made(LUSTRE, storageCapacity=1200)), "its throughput is not given")],
    ),
    "spot-needs-checkpoint": Cases(
        passes=[
            [template(), SPOT, pods(**mounts("/checkpoints", {"persistentVolumeClaim": {"claimName": "ckpt"}}))],
            fabric(pods(container=asks(**{"nvidia.com/gpu": 8}))),
        ],
        fails=[
            (
                [template(), SPOT, pods(container=asks(**{"nvidia.com/gpu": 8}))],
                "2 pods with GPUs, spot nodes (group), and no volume that outlives a node",
            )
        ],
    ),
    "budget": Cases(
        passes=[fabric(made(STACK))],
        fails=[
            (fabric(made(STACK), nodes=3), "24 GPUs; at most 16"),
            (
                [made(STACK), template(instanceType="p5.48xlarge"), group()],
                (
                    "110.08 USD per hour; at most 100 (group: 2 x p5.48xlarge on demand at 55.04 "
                    "(aws/karpenter-provider-aws; skypilot-catalog v9, not older than 2026-01, 2026-07))"
                ),
            ),
        ],
        unread=[
            (
                [made(STACK), template(**BLOCK), group(capacityType="CAPACITY_BLOCK")],
                "no price is known for p4d.24xlarge capacity block in us-east-1; the rest costs 0.00 USD per hour",
            ),
            (
                [made(STACK), group("elsewhere", links={"launchTemplate": ()})],
                "groups that cannot be read are not counted: elsewhere",
            ),
        ],
        settings={"most_gpus": 16, "most_usd_per_hour": 100},
    ),
    "ttl-and-owner": Cases(
        passes=[
            [made(LUSTRE, tags={"owner": "ml", "ttl": "2027-01-01"})],
            [made(LUSTRE, tags={"owner": "ml"}, provider={"defaultTags": {"tags": {"ttl": UNKNOWN}}})],
        ],
        fails=[([made(LUSTRE, tags={"owner": ""})], "no tag owner and no tag ttl")],
        unread=[([made(LUSTRE, tags=UNKNOWN)], "tags is not known before the update")],
    ),
    "dev-scales-to-zero": Cases(
        passes=[fabric(scalingConfig={"minSize": 0, "maxSize": 2, "desiredSize": 0})],
        fails=[(fabric(), "at least 2 x p4d.24xlarge always run")],
    ),
    "no-public-endpoint": Cases(
        passes=[
            [made(CLUSTER, vpcConfig={"endpointPublicAccess": True, "publicAccessCidrs": ["203.0.113.0/24"]})],
            [made(CLUSTER, vpcConfig={"endpointPublicAccess": False})],
            [made(SECURITY_GROUP, ingress=[{"protocol": "tcp", "fromPort": 80, "toPort": 80, "cidrBlocks": ["0.0.0.0/0"]}])],
            [made(INGRESS, ipProtocol="tcp", fromPort=22, toPort=22, cidrIpv4="10.0.0.0/8")],
            [made("gcp:compute/firewall:Firewall", allows=[{"protocol": "tcp", "ports": ["22"]}], sourceRanges=["10.0.0.0/8"])],
            [made("gcp:container/cluster:Cluster", privateClusterConfig={"enablePrivateEndpoint": True})],
        ],
        fails=[
            ([made(CLUSTER, vpcConfig={})], "the API is open to the whole internet: no publicAccessCidrs"),
            ([made(CLUSTER, vpcConfig={"publicAccessCidrs": ["0.0.0.0/0"]})], "publicAccessCidrs: all"),
            (
                [
                    made(
                        SECURITY_GROUP, ingress=[{"protocol": "tcp", "fromPort": 20, "toPort": 30, "cidrBlocks": ["0.0.0.0/0"]}]
                    )
                ],
                "ports 22 are open to the whole internet",
            ),
            (
                [made(INGRESS, ipProtocol="-1", cidrIpv4="0.0.0.0/0")],
                "ports 22, 443, 6443, 988, 2049 are open to the whole internet",
            ),
            (
                [made("gcp:compute/firewall:Firewall", allows=[{"protocol": "tcp"}], sourceRanges=["0.0.0.0/0"])],
                "ports 22, 443, 6443, 988, 2049 are open to the whole internet",
            ),
            (
                [made("gcp:container/cluster:Cluster")],
                "the API is open to the whole internet: no masterAuthorizedNetworksConfig",
            ),
        ],
        unread=[
            (
                [made(CLUSTER, vpcConfig={"publicAccessCidrs": [UNKNOWN]})],
                "vpcConfig.publicAccessCidrs[0] is not known before the update",
            )
        ],
    ),
    "no-public-ip": Cases(
        passes=[
            [template()],
            [made(GKE, privateClusterConfig={"enablePrivateNodes": True})],
            [made("gcp:compute/instance:Instance", networkInterfaces=[{"accessConfigs": [{"natIp": "1.2.3.4"}]}])],
        ],
        fails=[
            (
                [template(networkInterfaces=[nic(0, 0, "interface", associatePublicIpAddress="true")])],
                "networkInterfaces[0].associatePublicIpAddress is true",
            ),
            ([made(GKE)], "privateClusterConfig.enablePrivateNodes is not true"),
            (
                [
                    made(
                        "gcp:compute/instance:Instance",
                        guestAccelerators=[{"type": "nvidia-l4", "count": 1}],
                        networkInterfaces=[{"accessConfigs": [{"natIp": "1.2.3.4"}]}],
                    )
                ],
                "networkInterfaces[0].accessConfigs is given",
            ),
        ],
    ),
    "instance-metadata": Cases(
        passes=[
            [template(metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 2})],
            [template(metadataOptions={"httpEndpoint": "disabled"})],
        ],
        fails=[
            ([template()], "httpTokens is not given"),
            (
                [template(metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 3})],
                "httpPutResponseHopLimit is 3; at most 2",
            ),
        ],
    ),
    "encrypted": Cases(
        passes=[
            [template(blockDeviceMappings=DISK)],
            [made(CLUSTER, encryptionConfig={"provider": {"keyArn": UNKNOWN}, "resources": ["secrets"]})],
            [made("aws:efs/fileSystem:FileSystem", encrypted=True)],
            [made(LUSTRE)],
        ],
        fails=[
            (
                [template(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100}}])],
                "blockDeviceMappings[0].ebs.encrypted is not true",
            ),
            ([made(CLUSTER)], "no encryptionConfig: Kubernetes secrets are not encrypted with a key of your own"),
            ([made("aws:ebs/volume:Volume")], "encrypted is not true"),
        ],
        unread=[([template()], "no blockDeviceMappings: the account's default decides")],
    ),
    "secrets-not-plain": Cases(
        passes=[
            [pods(container={"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]})],
            [pods(container={"env": [{"name": "TOKENIZERS_PARALLELISM", "value": "false"}]})],
            [made("kubernetes:core/v1:Secret", kind="Secret", stringData={"token": Secret("x")})],
            [made("kubernetes:core/v1:Secret", kind="Secret", stringData=Secret({"token": "x"}))],
        ],
        fails=[
            ([pods(container={"env": [{"name": "HF_TOKEN", "value": "abc"}]})], "main: HF_TOKEN has a plain value"),
            (
                [made("kubernetes:core/v1:Secret", kind="Secret", stringData={"token": "x"})],
                "stringData.token is not marked as secret in the program",
            ),
            (
                [made("kubernetes:core/v1:ConfigMap", kind="ConfigMap", data={"API_KEY": "x"})],
                "data.API_KEY lies in a ConfigMap",
            ),
            (
                [template(userData="#!/bin/sh\nexport AWS_ACCESS_KEY_ID=AKIA0123456789ABCDEF")],
                "userData holds a key or token",
            ),
        ],
    ),
    "privileged-pods": Cases(
        passes=[
            [pods()],
            [pods(namespace="kube-system", container={"securityContext": {"privileged": True}})],
            [pods(namespace="gpufabric-dev-train", hostNetwork=True)],
        ],
        fails=[
            ([pods(container={"securityContext": {"privileged": True}})], "main is privileged in the namespace ml"),
            ([pods(hostNetwork=True)], "hostNetwork in the namespace ml"),
        ],
        unread=[
            ([pods(namespace=UNKNOWN, hostNetwork=True)], "metadata.namespace is not known before the update"),
        ],
    ),
}
