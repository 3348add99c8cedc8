"""The objects that every mounted bucket has, whatever it caches."""

from typing import Any, NotRequired

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, ServiceAccount
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding

from gpufabric.kubernetes.storage_args import BucketAccessArgs, BucketArgs
from gpufabric.plan.mounts import MountPlan


class MountArgs(BucketAccessArgs):
    """What every mount of a bucket is asked for."""

    name: str
    """Name of the mount, 1 to 30 of ``a-z``, ``0-9``, ``-``: of its folder on the nodes, and in metrics."""
    bucket: BucketArgs
    """What is mounted."""
    path: str
    """Folder of pods in which the mount appears; the bucket's files are in ``<path>/files``."""
    node_selector: NotRequired[dict[str, str]]
    """Labels of the nodes on which rclone mounts it. Required, unless a CSI driver does: then it is where a job's pods are."""
    image: NotRequired[str]
    """Image with Python 3.11 for the agent beside rclone, pinned; the gate's own image will do. Required with rclone."""
    read_only: NotRequired[bool]
    """Pods cannot write. Default: the preset's; with a CSI driver true."""
    read_chunk_mib: NotRequired[int]
    """What one request asks of the bucket, 1 to 1,024 MiB. Default: the preset's."""
    read_streams: NotRequired[int]
    """Requests of one file at once, 0 to 64. Default: the preset's."""
    upload_chunk_mib: NotRequired[int]
    """Part of a multipart upload, 5 to 1,024 MiB. Default: the preset's."""
    upload_concurrency: NotRequired[int]
    """Parts of one file at once, 1 to 64. Default: the preset's."""
    dir_cache_s: NotRequired[int]
    """How long a listing is believed, seconds, 0 to 86,400: another node's files show after that. Default: the preset's."""


def mount_objects(parent: ComponentResource, name: str, plan: MountPlan, after: list[Any]) -> DaemonSet:
    """Make namespace, account, programs and DaemonSet. The DaemonSet goes first when all is removed, ``after`` later."""
    child = ResourceOptions(parent=parent)
    if plan.own_namespace:
        labels = {"pod-security.kubernetes.io/enforce": "privileged", "app.kubernetes.io/managed-by": "pulumi"}
        own = Namespace(f"{name}-namespace", metadata={"name": plan.namespace, "labels": labels}, opts=child)
        child = ResourceOptions(parent=parent, depends_on=[own])

    def meta(annotations: dict[str, str] | None = None) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "gpufabric-mount", "app.kubernetes.io/managed-by": "pulumi"}
        more = {"annotations": annotations} if annotations else {}
        return {"name": plan.object_name, "namespace": plan.namespace, "labels": labels, **more}

    before: list[Any] = [
        ServiceAccount(f"{name}-account", metadata=meta(dict(plan.service_account_annotations)), opts=child),
        ConfigMap(f"{name}-programs", metadata=meta(), data=dict(plan.files), opts=child),
    ]
    if plan.role_rules:
        role_ref = {"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": plan.object_name}
        subject = {"kind": "ServiceAccount", "name": plan.object_name, "namespace": plan.namespace}
        rules = [dict(each) for each in plan.role_rules]
        before += [
            Role(f"{name}-role", metadata=meta(), rules=rules, opts=child),
            RoleBinding(f"{name}-role-binding", metadata=meta(), role_ref=role_ref, subjects=[subject], opts=child),
        ]
    return DaemonSet(
        f"{name}-daemon-set",
        # No waiting: where a group has no nodes yet, before its capacity's window, none ever becomes ready.
        metadata=meta({"pulumi.com/skipAwait": "true", **plan.daemon_set_annotations}),
        spec=dict(plan.daemon_set_spec),
        opts=ResourceOptions(parent=parent, depends_on=[*before, *after], delete_before_replace=True),
    )
