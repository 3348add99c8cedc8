"""Local NVMe that no cloud stripes: the disks of a node as one file system, by a DaemonSet that formats nothing in use."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Output, ResourceOptions, get_stack
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, ServiceAccount
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding

from gpufabric.plan.local_nvme import LocalNvmePlan, PodScratch, resolve_local_nvme
from gpufabric.plan.local_nvme.resolve import ROLE_RULES
from gpufabric.spec import SpecError
from gpufabric.spec.local_nvme import LocalNvmeSpec

_MANAGED = {"app.kubernetes.io/managed-by": "pulumi"}
_RBAC = "rbac.authorization.k8s.io"


class LocalNvmeArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.LocalNvme`."""

    name: str
    """Name, part of the names of what is created: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    node_selector: dict[str, str]
    """Labels of the nodes whose disks are used."""
    image: str
    """Image with Python 3.11 for the agent beside the disks, pinned; the gate's own image will do."""
    disk_image: str
    """Image with mdadm, xfsprogs and util-linux, pinned."""
    disks: NotRequired[int]
    """How many disks each node has, 1 to 64: else nothing is formatted. Default: not known."""
    devices: NotRequired[list[str]]
    """Disks by their path, shell patterns, where no cloud's model fits. Default: none, those whose model the table knows."""
    wipe: NotRequired[list[str]]
    """Disks below ``/dev/disk/by-id``, shell patterns, that may be cleared of what others left there. Default: none."""
    node_path: NotRequired[str]
    """Folder of the node where the file system is mounted. Default: ``/mnt/gpufabric/nvme``."""
    pod_path: NotRequired[str]
    """Folder of pods that shows the file system's ``scratch``. Default: ``/scratch``."""
    local_volume: NotRequired[bool]
    """Also a StorageClass for local volumes that you make. Default: false."""
    namespace: NotRequired[str]
    """An existing namespace. Default: one of its own, ``gpufabric-<stack>-nvme-<name>``."""
    tolerates: NotRequired[list[str]]
    """Keys of taints (NoSchedule) beside those of GPUs and of the gate's hold. Default: none."""


class LocalNvme(ComponentResource):
    """The local NVMe disks of each node as one xfs, striped where there are several, mounted on the node.

    Only disks that nothing is on are formatted; what is not ours is refused by name, on its node, and stays as it is.
    Give a job ``pod_scratch.apply_to(spec)``; its pods wait while the disks are not mounted.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    daemon_set: Output[str]
    """``namespace/name`` of the DaemonSet."""
    pod: Output[Mapping[str, Any]]
    """What a pod needs, as plain data: ``files``, ``volume``, ``volumeMount``."""
    cache_path: Output[str]
    """The folder for caches of buckets: ``cache_path`` of ``CachedMount``, with ``cache_must_exist``."""

    def __init__(self, name: str, args: LocalNvmeArgs, opts: ResourceOptions | None = None) -> None:
        wish = LocalNvmeSpec.parse(args, name)
        try:
            plan = resolve_local_nvme(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        self.pod_scratch: PodScratch = plan.pod  # merges the folder into a pod; known before anything is deployed
        super().__init__("gpufabric:index:LocalNvme", name, {}, opts)
        self._name, self._plan = name, plan
        child = ResourceOptions(parent=self)
        if plan.own_namespace:
            labels = {"pod-security.kubernetes.io/enforce": "privileged", **_MANAGED}
            own = Namespace(f"{name}-namespace", metadata={"name": plan.namespace, "labels": labels}, opts=child)
            child = ResourceOptions(parent=self, depends_on=[own])
        before = [
            *self._permissions(child),
            ConfigMap(f"{name}-programs", metadata=self._meta(), data=dict(plan.files), opts=child),
        ]
        made = DaemonSet(
            f"{name}-daemon-set",
            # No waiting: a node whose disks are refused says so in its pod, and the others are used meanwhile.
            # Foreground: its pods end before their account goes, so that the agent can take its label back.
            metadata={
                **self._meta(),
                "annotations": {"pulumi.com/skipAwait": "true", "pulumi.com/deletionPropagationPolicy": "foreground"},
            },
            spec=dict(plan.daemon_set_spec),
            opts=ResourceOptions(parent=self, depends_on=before, delete_before_replace=True),
        )
        _storage_class(name, plan, self)
        self.daemon_set = made.id
        self.pod = Output.from_input(plan.pod.to_dict())
        self.cache_path = Output.from_input(plan.cache_path)
        self.register_outputs({"daemon_set": self.daemon_set, "pod": self.pod, "cache_path": self.cache_path})

    def _meta(self) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "gpufabric-local-nvme", **_MANAGED}
        return {"name": self._plan.object_name, "namespace": self._plan.namespace, "labels": labels}

    def _permissions(self, in_namespace: ResourceOptions) -> list[Any]:
        """An account that may patch nodes, and before it the policy that leaves it one label of its own node."""
        plan, meta = self._plan, {"name": self._plan.cluster_name, "labels": _MANAGED}
        child = ResourceOptions(parent=self)
        policy = ValidatingAdmissionPolicy(f"{self._name}-policy", metadata=meta, spec=dict(plan.node_policy), opts=child)
        binding = ValidatingAdmissionPolicyBinding(
            f"{self._name}-policy-binding",
            metadata=meta,
            spec=dict(plan.node_policy_binding),
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        rules = [dict(each) for each in ROLE_RULES]
        return [
            binding,
            ServiceAccount(f"{self._name}-account", metadata=self._meta(), opts=in_namespace),
            ClusterRole(f"{self._name}-cluster-role", metadata=meta, rules=rules, opts=child),
            ClusterRoleBinding(
                f"{self._name}-cluster-role-binding",
                metadata=meta,
                role_ref={"api_group": _RBAC, "kind": "ClusterRole", "name": plan.cluster_name},
                subjects=[{"kind": "ServiceAccount", "name": plan.object_name, "namespace": plan.namespace}],
                opts=ResourceOptions(parent=self, depends_on=[binding]),
            ),
        ]


def _storage_class(name: str, plan: LocalNvmePlan, parent: ComponentResource) -> None:
    """For volumes that somebody else makes in folders of the file system: a claim waits for the pod that decides the node."""
    if plan.storage_class is None:
        return
    from pulumi_kubernetes.storage.v1 import StorageClass  # its SDK module only for those who want it

    StorageClass(
        f"{name}-storage-class",
        metadata={"name": plan.storage_class, "labels": _MANAGED},
        provisioner="kubernetes.io/no-provisioner",
        volume_binding_mode="WaitForFirstConsumer",
        reclaim_policy="Retain",
        opts=ResourceOptions(parent=parent),
    )
