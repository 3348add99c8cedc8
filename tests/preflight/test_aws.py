"""The preflight of AWS against recorded answers: a good account is silent, each thing that is wrong is one line."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from gpufabric.plan.aws import AwsStackPlan, resolve_aws
from gpufabric.preflight.aws import preflight_aws
from gpufabric.preflight.aws_client import PERMISSIONS, Aws
from gpufabric.spec import SpecError, parse_spec
from gpufabric.spec.aws import AwsTrainingSpec
from tests.plan.aws.test_parts import VPC
from tests.plan.aws.wishes import P5
from tests.preflight.aws_account import ACCOUNT, CALLER, GOOD, MACHINE, Account
from tests.spec.specs import changed

RESERVATION = "cr-0123456789abcdef0"
RESERVED = changed(P5, group__capacity={"kind": "reservation", "id": RESERVATION})
BLOCK = changed(
    P5,
    group__capacity={
        "kind": "capacity_block",
        "id": RESERVATION,
        "starts_at": "2026-12-01T11:30:00Z",
        "ends_at": "2026-12-03T11:30:00Z",
    },
)
HELD: dict[str, Any] = {
    "CapacityReservationId": RESERVATION,
    "State": "active",
    "ReservationType": "default",
    "InstanceType": "p5.48xlarge",
    "AvailabilityZone": "us-east-2b",
    "TotalInstanceCount": 4,
    "AvailableInstanceCount": 4,
}
SUBNETS = [
    {"SubnetId": VPC["subnets"][0], "VpcId": VPC["vpc"], "AvailabilityZone": "us-east-2b", "AvailableIpAddressCount": 256},
    {"SubnetId": VPC["subnets"][1], "VpcId": VPC["vpc"], "AvailabilityZone": "us-east-2a", "AvailableIpAddressCount": 250},
]
GROUP = "sg-0123456789abcdef0"
OWN = {"IpProtocol": "-1", "ReferencedGroupInfo": {"GroupId": GROUP}}
RULES = {"SecurityGroupRules": [{**OWN, "IsEgress": True}, {**OWN, "IsEgress": False}]}


def dns(value: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """How AWS answers for an attribute of a VPC: under its name, with a capital letter."""
    return lambda words: {f"{words['Attribute'][0].upper()}{words['Attribute'][1:]}": {"Value": value}}


CLUSTER = {
    "name": "shared",
    "status": "ACTIVE",
    "version": "1.35",
    "resourcesVpcConfig": {"vpcId": VPC["vpc"]},
}
EXISTING: dict[str, Any] = {
    **{key: value for key, value in P5.items() if key != "api_access"},
    "cluster": {"existing": {"name": "shared"}},
    "network": {"existing": {**VPC, "security_group": GROUP}},
    "stores": {"data": {"name": "acme-data", "existing": True}},
    "filesystems": {"shared": {"existing": "fs-0123456789abcdef0"}},
}
ANSWERS_EXISTING: dict[str, Any] = {
    "DescribeCluster": {"cluster": CLUSTER},
    "ListAddons": {"addons": ["vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent"]},
    "DescribeAddon": {"addon": {"addonName": "vpc-cni", "addonVersion": "v1.20.4-eksbuild.1"}},
    "ListPodIdentityAssociations": {"associations": [{"namespace": "kube-system", "serviceAccount": "aws-node"}]},
    "DescribeVpcAttribute": dns(True),
    "DescribeSubnets": {"Subnets": SUBNETS},
    "DescribeSecurityGroupRules": RULES,
    "HeadBucket": {},
    "DescribeFileSystems": {
        "FileSystems": [{"FileSystemType": "LUSTRE", "Lifecycle": "AVAILABLE", "VpcId": VPC["vpc"]}],
    },
}


@pytest.fixture(autouse=True)
def _command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")


def plan_of(raw: dict[str, Any]) -> AwsStackPlan:
    spec = parse_spec(raw)
    assert isinstance(spec, AwsTrainingSpec)
    return resolve_aws(spec, "prod", now=datetime(2026, 11, 29, tzinfo=UTC))


def says(raw: dict[str, Any], account: Account) -> list[str]:
    try:
        preflight_aws(plan_of(raw), account.aws())
    except SpecError as error:
        return str(error).split("\n")
    return []


def test_a_good_account_is_silent() -> None:
    assert says(P5, Account()) == []
    assert says(RESERVED, Account(DescribeCapacityReservations={"CapacityReservations": [HELD]})) == []
    assert says(EXISTING, Account(**ANSWERS_EXISTING)) == []


def test_a_cni_with_a_role_by_its_service_account_is_well() -> None:
    addon = {
        "addonName": "vpc-cni",
        "addonVersion": "v1.18.5-eksbuild.1",
        "serviceAccountRoleArn": f"arn:aws:iam::{ACCOUNT}:role/cni",
    }
    answers = {**ANSWERS_EXISTING, "DescribeAddon": {"addon": addon}, "ListPodIdentityAssociations": {"associations": []}}
    assert says(EXISTING, Account(**answers)) == []


def test_only_what_the_docs_list_is_asked_and_nothing_is_changed() -> None:
    accounts = [Account(), Account(**ANSWERS_EXISTING), Account(DescribeCapacityReservations={"CapacityReservations": [HELD]})]
    for raw, account in zip((P5, EXISTING, RESERVED), accounts, strict=True):
        says(raw, account)
    asked = {operation for account in accounts for operation, _ in account.asked}
    allowed = {permission.partition(":")[2] for permission in PERMISSIONS}
    assert {operation.replace("HeadBucket", "ListBucket") for operation in asked} == allowed
    assert all(operation.startswith(("Describe", "Get", "List", "Head")) for operation in asked)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a zone without the machine": (
        {**P5, "zone": "us-east-2a"},
        {},
        [("node_groups[0].machine_type: AWS does not offer p5.48xlarge in us-east-2a; write zone: us-east-2b or us-east-2c")],
    ),
    "a region without the machine": (
        P5,
        {"DescribeInstanceTypeOfferings": {"InstanceTypeOfferings": []}},
        [
            (
                "node_groups[0].machine_type: AWS does not offer p5.48xlarge in us-east-2b; "
                "no zone of us-east-2 has it: choose another region"
            )
        ],
    ),
    "another number of interfaces": (
        P5,
        {
            "DescribeInstanceTypes": {
                "InstanceTypes": [
                    {**MACHINE, "NetworkInfo": {"MaximumNetworkCards": 32, "EfaInfo": {"MaximumEfaInterfaces": 16}}}
                ]
            }
        },
        ["node_groups: p5.48xlarge has 16 EFA interfaces, our table says 32; do not deploy with this release; report it"],
    ),
    "a small quota": (
        P5,
        {"ListServiceQuotas": {"Quotas": [{"QuotaName": "Running On-Demand P instances", "Value": 192.0}]}},
        [
            (
                "node_groups: train need 768 vCPUs; the quota 'Running On-Demand P instances' is 192 in us-east-2; "
                "ask AWS for more (Service Quotas, EC2), which takes days"
            )
        ],
    ),
    "a zone that the account lacks": (
        {**P5, "network": {"zones": ["us-east-2b", "us-east-2d"]}},
        {},
        ["network.zones: this account has no us-east-2d; write from us-east-2a, us-east-2b, us-east-2c"],
    ),
    "the creator among the administrators": (
        {**P5, "cluster": {"admin_principals": [f"arn:aws:iam::{ACCOUNT}:role/team/ci"]}},
        {},
        [
            (
                f"cluster.admin_principals[0]: arn:aws:iam::{ACCOUNT}:role/team/ci is who runs this, and creates the "
                f"cluster: EKS "
                "makes that principal an administrator; leave it out, or create as somebody else"
            )
        ],
    ),
    "a reservation that is not there": (
        RESERVED,
        {"DescribeCapacityReservations": {"error": "InvalidCapacityReservationId.NotFound"}},
        [
            (
                f"node_groups[0].capacity.id: AWS knows no {RESERVATION} in us-east-2; "
                "check the id, the region, and whose account this is"
            )
        ],
    ),
    "a reservation that fits in nothing": (
        RESERVED,
        {
            "DescribeCapacityReservations": {
                "CapacityReservations": [
                    {
                        **HELD,
                        "State": "expired",
                        "InstanceType": "p4d.24xlarge",
                        "AvailabilityZone": "us-east-2a",
                        "TotalInstanceCount": 2,
                        "PlacementGroupArn": f"arn:aws:ec2:us-east-2:{ACCOUNT}:placement-group/near",
                    }
                ]
            }
        },
        [
            f"node_groups[0].capacity.id: {RESERVATION} is expired; name one that is active or scheduled",
            (
                f"node_groups[0].machine_type: {RESERVATION} holds p4d.24xlarge, the group asks for p5.48xlarge; "
                f"write p4d.24xlarge, "
                "or name another reservation"
            ),
            f"zone: {RESERVATION} is in us-east-2a, the stack in us-east-2b; write zone: us-east-2a",
            f"node_groups[0].nodes: {RESERVATION} holds 2 instances, the group asks for 4; write at most 2",
            (
                f"node_groups[0].capacity.placement_group: {RESERVATION} was made in a placement group: an instance "
                f"outside that group "
                "gets none of it; write the name of that group"
            ),
        ],
    ),
    "a reservation that others use": (
        RESERVED,
        {"DescribeCapacityReservations": {"CapacityReservations": [{**HELD, "AvailableInstanceCount": 3}]}},
        [
            (
                f"node_groups[0].nodes: 3 of 4 instances of {RESERVATION} are free, the group asks for 4; "
                "end what uses the others, or ask for fewer"
            )
        ],
    ),
    "a reservation for two groups": (
        {**RESERVED, "node_groups": [{**RESERVED["node_groups"][0], "name": name, "nodes": 3} for name in ("a", "b")]},
        {"DescribeCapacityReservations": {"CapacityReservations": [HELD]}},
        [f"node_groups: a and b ask {RESERVATION} for 6 instances; it holds 4; ask for fewer"],
    ),
    "a block that is an ordinary reservation": (
        BLOCK,
        {"DescribeCapacityReservations": {"CapacityReservations": [HELD]}},
        [f"node_groups[0].capacity.kind: {RESERVATION} is a reservation (AWS: default); write kind: reservation"],
    ),
    "a block that begins at another time": (
        BLOCK,
        {
            "DescribeCapacityReservations": {
                "CapacityReservations": [
                    {
                        **HELD,
                        "ReservationType": "capacity-block",
                        "State": "scheduled",
                        "StartDate": datetime(2026, 12, 2, 11, 30, tzinfo=UTC),
                    }
                ]
            }
        },
        [
            (
                f"node_groups[0].capacity.starts_at: {RESERVATION} begins at 2026-12-02T11:30:00Z, the group's scale-up is at "
                "2026-12-01T11:30:00Z; write starts_at: '2026-12-02T11:30:00Z'"
            )
        ],
    ),
    "a name that is taken": (
        {**P5, "stores": {"data": {"name": "acme-data"}}},
        {"HeadBucket": {"error": "403"}},
        [
            (
                "stores.data.name: acme-data is a bucket of another account, or of another region, or closed to you; "
                "choose another name"
            )
        ],
    ),
    "a bucket that is not there": (
        {**P5, "stores": {"data": {"name": "acme-data", "existing": True}}},
        {"HeadBucket": {"error": "404"}},
        ["stores.data.name: there is no bucket acme-data; check the name, or leave existing out"],
    ),
    "a cluster that is not there": (
        EXISTING,
        {**ANSWERS_EXISTING, "DescribeCluster": GOOD["DescribeCluster"]},
        ["cluster.existing.name: AWS knows no EKS cluster shared in us-east-2; check the name and the region"],
    ),
    "a cluster that does not fit": (
        EXISTING,
        {
            **ANSWERS_EXISTING,
            "DescribeCluster": {
                "cluster": {
                    **CLUSTER,
                    "status": "FAILED",
                    "version": "1.33",
                    "resourcesVpcConfig": {"vpcId": "vpc-00000000"},
                }
            },
            "ListAddons": {"addons": ["vpc-cni"]},
        },
        [
            "cluster.existing.name: shared is FAILED; wait until it is ACTIVE, or repair it",
            (
                "cluster.kubernetes_version: shared has Kubernetes 1.33, the node images are of 1.35; write "
                "kubernetes_version: '1.33'"
            ),
            f"network.existing.vpc: shared is in vpc-00000000, not in {VPC['vpc']}; write vpc: vpc-00000000",
            (
                "cluster.existing.name: shared lacks the add-on eks-pod-identity-agent; "
                "add it: aws eks create-addon --addon-name eks-pod-identity-agent"
            ),
        ],
    ),
    "a CNI that is too old and lives on the nodes' role": (
        EXISTING,
        {
            **ANSWERS_EXISTING,
            "DescribeAddon": {"addon": {"addonName": "vpc-cni", "addonVersion": "v1.18.4-eksbuild.3"}},
            "ListPodIdentityAssociations": {"associations": []},
        },
        [
            (
                "cluster.existing.name: shared has vpc-cni v1.18.4-eksbuild.3, which knows no EFA-only interfaces; "
                "update the add-on to v1.18.5 or later (EKS user guide, node-efa)"
            ),
            (
                "cluster.existing.name: vpc-cni of shared has no role of its own, and the role of our nodes has no permissions "
                "for it; give kube-system/aws-node a role with AmazonEKS_CNI_Policy by pod identity: else no node becomes Ready"
            ),
        ],
    ),
    "subnets that do not fit": (
        {**P5, "network": {"existing": VPC}},
        {
            **{key: ANSWERS_EXISTING[key] for key in ("DescribeVpcAttribute",)},
            "DescribeSubnets": {
                "Subnets": [
                    {**SUBNETS[0], "AvailabilityZone": "us-east-2a", "AvailableIpAddressCount": 100},
                    {**SUBNETS[1], "VpcId": "vpc-00000000"},
                ]
            },
        },
        [
            f"network.existing.subnets: {VPC['subnets'][1]} is in vpc-00000000, not in {VPC['vpc']}; write subnets of one VPC",
            "network.existing.subnets: all are in us-east-2a; EKS needs two zones; add one of another zone",
            (
                f"network.existing.node_subnet: {VPC['subnets'][0]}, the nodes' subnet, is in us-east-2a, not in us-east-2b; "
                "write zone: us-east-2a, or name a subnet of us-east-2b as node_subnet"
            ),
            (
                f"network.existing.node_subnet: {VPC['subnets'][0]} has 100 free addresses, room for 1 GPU nodes of 4; "
                "take a larger subnet: a node and its pods take 64"
            ),
        ],
    ),
    "a VPC without names": (
        {**P5, "network": {"existing": VPC}},
        {
            "DescribeSubnets": {"Subnets": SUBNETS},
            "DescribeVpcAttribute": lambda words: {
                f"{words['Attribute'][0].upper()}{words['Attribute'][1:]}": {"Value": False}
            },
        },
        [
            (
                f"network.existing.vpc: enableDnsSupport is off in {VPC['vpc']}: nodes would not find the cluster's API; "
                "switch it on (EKS user guide, VPC requirements)"
            ),
            (
                f"network.existing.vpc: enableDnsHostnames is off in {VPC['vpc']}: nodes would not find the cluster's API; "
                "switch it on (EKS user guide, VPC requirements)"
            ),
        ],
    ),
    "a VPC and subnets that are not there": (
        {**P5, "network": {"existing": VPC}},
        {
            "DescribeVpcAttribute": {"error": "InvalidVpcID.NotFound"},
            "DescribeSubnets": {"error": "InvalidSubnetID.NotFound", "message": "The subnet ID does not exist"},
        },
        [
            f"network.existing.vpc: AWS knows no {VPC['vpc']} in us-east-2; check the id and the region",
            "network.existing.subnets: The subnet ID does not exist; check the ids and the region",
        ],
    ),
    "a security group by addresses": (
        {**P5, "network": {"existing": {**VPC, "security_group": GROUP}}},
        {
            **{key: ANSWERS_EXISTING[key] for key in ("DescribeVpcAttribute", "DescribeSubnets")},
            "DescribeSecurityGroupRules": {
                "SecurityGroupRules": [
                    {**OWN, "IsEgress": False},
                    {"IpProtocol": "-1", "IsEgress": True, "CidrIpv4": "0.0.0.0/0"},
                ]
            },
        },
        [
            (
                f"network.existing.security_group: {GROUP} does not let all traffic of its own members out: EFA would "
                f"not connect; add "
                "a rule for all traffic that names the group itself, not a block of addresses (EC2 user guide, EFA)"
            )
        ],
    ),
    "a file system of another kind": (
        {**EXISTING, "stores": {}},
        {
            **ANSWERS_EXISTING,
            "DescribeFileSystems": {
                "FileSystems": [{"FileSystemType": "OPENZFS", "Lifecycle": "FAILED", "VpcId": "vpc-00000000"}]
            },
        },
        [
            "filesystems.shared.existing: fs-0123456789abcdef0 is of type OPENZFS; name one of FSx for Lustre",
            "filesystems.shared.existing: fs-0123456789abcdef0 is FAILED; wait until it is AVAILABLE",
            (
                f"filesystems.shared.existing: fs-0123456789abcdef0 is in vpc-00000000, the nodes in {VPC['vpc']}; "
                "name one of the same VPC"
            ),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    raw, answers, lines = CASES[case]
    assert [line.partition(" (vendor, ")[0] for line in says(raw, Account(**answers))] == lines


@pytest.mark.parametrize(
    ("caller", "principal", "same"),
    [
        (CALLER, f"arn:aws:iam::{ACCOUNT}:role/team/ci", True),
        (CALLER, f"arn:aws:iam::{ACCOUNT}:role/ci", True),
        (CALLER, f"arn:aws:iam::{ACCOUNT}:role/ci/other", False),
        (CALLER, f"arn:aws:iam::{ACCOUNT}:user/ci", False),
        (CALLER, "arn:aws:iam::210987654321:role/ci", False),
        (f"arn:aws:iam::{ACCOUNT}:user/eve", f"arn:aws:iam::{ACCOUNT}:user/eve", True),
        (f"arn:aws:iam::{ACCOUNT}:user/eve", f"arn:aws:iam::{ACCOUNT}:user/adam", False),
    ],
)
def test_the_creator_is_known_by_role_or_user(caller: str, principal: str, same: bool) -> None:
    identity = {"UserId": "A", "Account": ACCOUNT, "Arn": caller}
    raw = {**P5, "cluster": {"admin_principals": [principal]}}
    assert bool(says(raw, Account(GetCallerIdentity=identity))) is same
    running = Account(GetCallerIdentity=identity, DescribeCluster={"cluster": {**CLUSTER, "name": "prod"}})
    assert says(raw, running) == [], "once it is made, another principal may run the program"


def test_a_block_that_has_not_begun_is_as_it_should_be() -> None:
    held = {**HELD, "ReservationType": "capacity-block", "State": "scheduled", "AvailableInstanceCount": 0}
    assert says(BLOCK, Account(DescribeCapacityReservations={"CapacityReservations": [held]})) == []


def test_nodes_of_a_running_cluster_are_not_held_against_it() -> None:
    cluster = {**CLUSTER, "name": "prod"}
    full = {**HELD, "AvailableInstanceCount": 0}
    account = Account(DescribeCluster={"cluster": cluster}, DescribeCapacityReservations={"CapacityReservations": [full]})
    assert says(RESERVED, account) == []


def test_what_may_not_be_asked_is_said_and_the_rest_is_still_asked() -> None:
    account = Account(
        DescribeInstanceTypeOfferings={"error": "UnauthorizedOperation"},
        ListServiceQuotas={"error": "AccessDeniedException"},
        DescribeAvailabilityZones={"error": "RequestLimitExceeded", "message": "slow down"},
    )
    assert says(P5, account) == [
        (
            "not checked: machines in the zone (these credentials may not ec2:DescribeInstanceTypeOfferings); "
            "ask for it; docs/preflight.md has the list"
        ),
        (
            "not checked: quotas (these credentials may not servicequotas:ListServiceQuotas); "
            "ask for it; docs/preflight.md has the list"
        ),
        (
            "not checked: the network (AWS refused ec2:DescribeAvailabilityZones: slow down (RequestLimitExceeded)); "
            "repair that, and look again"
        ),
        "3 of 10 questions have no answer: `pulumi up` may still fail there",
    ]


def test_a_cluster_that_may_not_be_seen_is_not_said_to_be_missing() -> None:
    account = Account(**{**ANSWERS_EXISTING, "DescribeCluster": {"error": "AccessDeniedException"}})
    assert says(EXISTING, account) == [
        (
            "not checked: whether the cluster shared is there, the cluster (these credentials may not eks:DescribeCluster); "
            "ask for it; docs/preflight.md has the list"
        ),
        "2 of 10 questions have no answer: `pulumi up` may still fail there",
    ]


def test_without_boto3_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "botocore", None)
    with pytest.raises(
        SpecError, match=r"boto3 is not installed, and only it can ask AWS; pip install 'gpufabric\[aws-preflight\]'"
    ):
        preflight_aws(plan_of(P5), Aws("us-east-2"))


def test_without_credentials_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(SpecError, match="no credentials of AWS were found; log in"):
        preflight_aws(plan_of(P5), Aws("us-east-2"))


def test_without_the_command_line_the_cluster_could_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert says(P5, Account()) == [
        "no program `aws` on PATH: the cluster's kubeconfig asks it for tokens; install the AWS command line"
    ]
