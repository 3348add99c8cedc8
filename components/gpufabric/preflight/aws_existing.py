"""Whether what a plan takes as existing exists and fits: caller, cluster, buckets, file systems."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufabric.plan.aws import AwsStackPlan
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.preflight.aws_client import Aws, AwsError
from gpufabric.spec import Problem

_CNI = "vpc-cni"
_NEEDED_ADDONS = (_CNI, "eks-pod-identity-agent")
_CNI_FLOOR = (1, 18, 5)  # EFA-only interfaces (EKS user guide, node-efa)


def find_cluster(aws: Aws, name: str) -> Mapping[str, Any] | None:
    """The EKS cluster of that name, or None."""
    try:
        found: Mapping[str, Any] = aws.ask("eks", "DescribeCluster", name=name)["cluster"]
    except AwsError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    return found


def caller(aws: Aws, plan: AwsStackPlan, *, cluster_is_there: bool) -> Iterator[Problem]:
    """Who creates the cluster is an administrator of it: EKS refuses a second entry for the same principal."""
    arn = str(aws.ask("sts", "GetCallerIdentity")["Arn"])
    if cluster_is_there or not isinstance(plan.parts.cluster, ClusterPlan):
        return
    for position, admin in enumerate(plan.parts.cluster.admins):
        if _same(arn, admin.principal):
            reason = f"{admin.principal} is who runs this, and creates the cluster: EKS makes that principal an administrator"
            yield Problem(f"cluster.admin_principals[{position}]", reason, "leave it out, or create as somebody else")


def _same(caller: str, principal: str) -> bool:
    """``arn:aws:sts::1:assumed-role/x/session`` is the role ``arn:aws:iam::1:role/path/x``."""
    account, resource = caller.split(":")[4:6]
    kind, _, rest = resource.partition("/")
    if kind != "assumed-role":
        return caller == principal
    name = rest.partition("/")[0]
    return principal.split(":")[4] == account and ":role/" in principal and principal.rpartition("/")[2] == name


def cluster(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """A cluster that exists: whether it is there, of the right version, in the right VPC, with what nodes need."""
    if isinstance(plan.parts.cluster, ClusterPlan):
        return
    name, at = plan.parts.cluster, "cluster.existing.name"
    found = find_cluster(aws, name)
    if found is None:
        yield Problem(at, f"AWS knows no EKS cluster {name} in {aws.region}", "check the name and the region")
        return
    if found["status"] not in ("ACTIVE", "UPDATING"):
        yield Problem(at, f"{name} is {found['status']}", "wait until it is ACTIVE, or repair it")
    if found["version"] != plan.version.kubernetes:
        reason = f"{name} has Kubernetes {found['version']}, the node images are of {plan.version.kubernetes}"
        yield Problem("cluster.kubernetes_version", reason, f"write kubernetes_version: '{found['version']}'")
    existing, vpc = plan.parts.network.existing, found["resourcesVpcConfig"]["vpcId"]
    if existing and existing.vpc != vpc:
        yield Problem("network.existing.vpc", f"{name} is in {vpc}, not in {existing.vpc}", f"write vpc: {vpc}")
    addons = aws.ask("eks", "ListAddons", clusterName=name)["addons"]
    for addon in _NEEDED_ADDONS:
        if addon not in addons:
            yield Problem(at, f"{name} lacks the add-on {addon}", f"add it: aws eks create-addon --addon-name {addon}")
    if _CNI in addons:
        yield from _cni(aws, name, at)


def _cni(aws: Aws, name: str, at: str) -> Iterator[Problem]:
    """The CNI knows EFA-only interfaces, and has permissions of its own: the role of our nodes has none for it."""
    addon = aws.ask("eks", "DescribeAddon", clusterName=name, addonName=_CNI)["addon"]
    version = re.match(r"v(\d+)\.(\d+)\.(\d+)", addon.get("addonVersion", ""))
    if version and tuple(map(int, version.groups())) < _CNI_FLOOR:
        reason = f"{name} has {_CNI} {addon['addonVersion']}, which knows no EFA-only interfaces"
        floor = ".".join(map(str, _CNI_FLOOR))
        yield Problem(at, reason, f"update the add-on to v{floor} or later", "EKS user guide, node-efa")
    account = {"namespace": "kube-system", "serviceAccount": "aws-node"}
    pods = aws.ask("eks", "ListPodIdentityAssociations", clusterName=name, **account)["associations"]
    if not pods and not addon.get("serviceAccountRoleArn"):
        reason = f"{_CNI} of {name} has no role of its own, and the role of our nodes has no permissions for it"
        fix = "give kube-system/aws-node a role with AmazonEKS_CNI_Policy by pod identity: else no node becomes Ready"
        yield Problem(at, reason, fix)


def storage(aws: Aws, plan: AwsStackPlan) -> Iterator[Problem]:
    """Buckets whose name is taken or that are not there; file systems that are not there."""
    for key, store in plan.parts.stores.items():
        at = f"stores.{key}.name"
        try:
            aws.ask("s3", "HeadBucket", Bucket=store.bucket)
        except AwsError as error:
            if error.code in ("404", "NoSuchBucket"):
                if store.existing:
                    yield Problem(at, f"there is no bucket {store.bucket}", "check the name, or leave existing out")
            elif error.code in ("403", "301"):
                reason = f"{store.bucket} is a bucket of another account, or of another region, or closed to you"
                yield Problem(at, reason, "check the permissions on it" if store.existing else "choose another name")
            else:
                raise
    for key, file_system in plan.parts.filesystems.items():
        if file_system.existing:
            yield from _file_system(aws, file_system.existing, f"filesystems.{key}.existing", plan)


def _file_system(aws: Aws, wanted: str, at: str, plan: AwsStackPlan) -> Iterator[Problem]:
    try:
        (found,) = aws.ask("fsx", "DescribeFileSystems", FileSystemIds=[wanted])["FileSystems"]
    except AwsError as error:
        if error.code != "FileSystemNotFound":
            raise
        yield Problem(at, f"AWS knows no {wanted} in {aws.region}", "check the id and the region")
        return
    if found["FileSystemType"] != "LUSTRE":
        yield Problem(at, f"{wanted} is of type {found['FileSystemType']}", "name one of FSx for Lustre")
    if found["Lifecycle"] not in ("AVAILABLE", "UPDATING"):
        yield Problem(at, f"{wanted} is {found['Lifecycle']}", "wait until it is AVAILABLE")
    existing = plan.parts.network.existing
    if existing and found["VpcId"] != existing.vpc:
        yield Problem(at, f"{wanted} is in {found['VpcId']}, the nodes in {existing.vpc}", "name one of the same VPC")
