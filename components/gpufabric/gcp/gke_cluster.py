"""The GKE cluster: private nodes, Dataplane V2 with several networks, its CPU nodes; or one that exists."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import ComponentResource, Input, Output, Resource, ResourceOptions
from pulumi_gcp import container, projects

from gpufabric.gcp.nodes import node_account, safe_node_config
from gpufabric.kubernetes.args import ApiAccessArgs
from gpufabric.kubernetes.handles import given, wishes
from gpufabric.plan.gcp.cluster import (
    ADMIN_ROLE,
    FREEZE_BEGAN,
    HANDLES,
    LOGS,
    METRICS,
    UPGRADE_WINDOW_UTC,
    GkeClusterPlan,
    kubeconfig,
    plan_cluster,
)
from gpufabric.plan.gcp.network import PODS_PER_NODE
from gpufabric.spec import SpecError
from gpufabric.spec.gcp.cluster import GkeClusterWish

_HANDLES = frozenset(HANDLES)
_SYSTEM_DISK_GIB = 100


class ExistingGkeArgs(TypedDict):
    """A GKE cluster that exists. Nothing of it is changed."""

    name: str
    """Name of the cluster."""
    location: NotRequired[str]
    """Its region, or its zone if it is zonal. Default: the region of the stack."""


class GkeSystemNodesArgs(TypedDict):
    """CPU nodes without taint, where DNS, controllers and the gate's coordinator run."""

    machine_type: NotRequired[str]
    """Machine type, x86. Default: ``e2-standard-4``, 4 vCPU and 16 GiB."""
    nodes: NotRequired[int]
    """How many, 2 to 50. Default: 2, since one may fail."""


class GkeClusterArgs(TypedDict):
    """Arguments of :class:`gpufabric.gcp.GkeCluster`."""

    project: str
    """Project of the cluster."""
    region: str
    """Region of the control plane, such as ``us-central1``."""
    zone: NotRequired[str]
    """Zone of the system nodes. Required, unless the cluster exists."""
    network: NotRequired[Input[str]]
    """Name of the VPC. Required, unless the cluster exists."""
    subnetwork: NotRequired[Input[str]]
    """Name of its subnet. Required, unless the cluster exists."""
    pods_range: NotRequired[Input[str]]
    """Name of the subnet's range for pods. Required, unless the cluster exists."""
    services_range: NotRequired[Input[str]]
    """Name of the subnet's range for services. Required, unless the cluster exists."""
    api_access: NotRequired[ApiAccessArgs]
    """From where the API can be called. Required, unless the cluster exists."""
    kubernetes_version: NotRequired[str]
    """Version of GKE, such as ``1.35`` or ``1.35.1-gke.1396000``. Default: the table's."""
    release_channel: NotRequired[str]
    """``rapid``, ``regular`` (default), ``stable`` or ``extended``. Minor versions and nodes never change by themselves."""
    admin_principals: NotRequired[list[str]]
    """IAM members that administer this cluster, beside who may already. Default: none."""
    system_nodes: NotRequired[GkeSystemNodesArgs]
    """The CPU nodes. Default: two ``e2-standard-4``."""
    deletion_protection: NotRequired[bool]
    """Refuse to delete the cluster until this is taken back. Default: false."""
    existing: NotRequired[ExistingGkeArgs]
    """A cluster that exists, instead of all other keys but project, region and version. Default: one is made."""
    csi_drivers: NotRequired[list[str]]
    """Storage drivers that GKE runs: ``gcsfuse``, ``lustre``, ``filestore``. Default: that of persistent disks alone."""
    tags: NotRequired[dict[str, str]]
    """Labels of everything that is made, at most 54. Default: none."""


class GkeCluster(ComponentResource):
    """A GKE cluster that is ready for GPU node pools: give them ``depends_on=[cluster]``.

    Raises:
        SpecError: the args ask for something that cannot be had, before anything is registered.
    """

    cluster_name: Output[str]
    """Name of the cluster."""
    location: Output[str]
    """Its region, or its zone if it is zonal."""
    endpoint: Output[str]
    """Address of the API, or its name where it is reached by that (``dns``)."""
    certificate_authority: Output[str]
    """The API's certificate authority in base64; not asked where the API is reached by its name."""
    workload_pool: Output[str]
    """The identities of the pods, ``PROJECT.svc.id.goog``."""
    node_service_account: Output[str]
    """Email of the nodes' account; empty where the cluster exists."""
    kubeconfig: Output[str]
    """Secret: a kubeconfig, as JSON, that asks Google's plug-in for a token whenever it is used."""

    def __init__(self, name: str, args: GkeClusterArgs, opts: ResourceOptions | None = None) -> None:
        wish = GkeClusterWish.parse(wishes(args, _HANDLES), name)
        try:
            plan = plan_cluster(name, wish, handles=given(args, _HANDLES))
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:GkeCluster", name, {}, opts)
        self._name, self._child = name, ResourceOptions(parent=self)
        self.node_service_account = Output.from_input("")
        if isinstance(plan, GkeClusterPlan):
            self._make(plan, args)
        else:
            self._yield(container.Cluster.get(f"{name}-cluster", plan.path, opts=self._child))
        self.register_outputs(
            {
                "cluster_name": self.cluster_name,
                "location": self.location,
                "endpoint": self.endpoint,
                "certificate_authority": self.certificate_authority,
                "workload_pool": self.workload_pool,
                "node_service_account": self.node_service_account,
                "kubeconfig": self.kubeconfig,
            }
        )

    def _make(self, plan: GkeClusterPlan, args: GkeClusterArgs) -> None:
        account, roles = node_account(f"{self._name}-nodes", plan.node_account, plan.project, self._child)
        self.node_service_account = account.email
        cluster = self._cluster(plan, args, roles)
        self._yield(cluster, by_name=plan.access == "dns")
        self._admins(plan, cluster)
        self._system_nodes(plan, cluster, roles)

    def _yield(self, cluster: container.Cluster, *, by_name: bool = False) -> None:
        self.cluster_name, self.location = cluster.name, cluster.location
        self.certificate_authority = cluster.master_auth.apply(lambda found: str(found.cluster_ca_certificate))
        self.workload_pool = cluster.project.apply(lambda project: f"{project}.svc.id.goog")
        name_of_api = cluster.control_plane_endpoints_config.apply(
            lambda found: str(found.dns_endpoint_config.endpoint) if by_name else ""
        )
        self.endpoint = Output.all(cluster.endpoint, name_of_api).apply(lambda both: str(both[1] or both[0]))
        parts = Output.all(
            name=cluster.name, endpoint=cluster.endpoint, authority=self.certificate_authority, dns_endpoint=name_of_api
        )
        self.kubeconfig = Output.secret(parts.apply(lambda found: kubeconfig(**found)))

    def _cluster(self, plan: GkeClusterPlan, args: GkeClusterArgs, after: Sequence[Resource]) -> container.Cluster:
        drivers = plan.csi_drivers
        return container.Cluster(
            f"{self._name}-cluster",
            name=plan.name,
            project=plan.project,
            location=plan.region,
            node_locations=[plan.zone],
            network=args["network"],
            subnetwork=args["subnetwork"],
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={
                "cluster_secondary_range_name": args["pods_range"],
                "services_secondary_range_name": args["services_range"],
            },
            default_max_pods_per_node=PODS_PER_NODE,
            # Both can be chosen only now: a cluster without them would have to be replaced for the first fabric.
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=True,
            **self._access(plan),
            workload_identity_config={"workload_pool": plan.workload_pool},
            enable_shielded_nodes=True,
            enable_legacy_abac=False,
            master_auth={"client_certificate_config": {"issue_client_certificate": False}},
            rbac_binding_config={
                "enable_insecure_binding_system_authenticated": False,
                "enable_insecure_binding_system_unauthenticated": False,
            },
            release_channel={"channel": plan.release_channel},
            min_master_version=plan.version,
            maintenance_policy={
                "daily_maintenance_window": {"start_time": UPGRADE_WINDOW_UTC},
                "maintenance_exclusions": [
                    {
                        "exclusion_name": "no-minor-or-node-upgrades",
                        "start_time": FREEZE_BEGAN,
                        "exclusion_options": {
                            "scope": "NO_MINOR_OR_NODE_UPGRADES",
                            "end_time_behavior": "UNTIL_END_OF_SUPPORT",
                        },
                    }
                ],
            },
            addons_config={
                "gce_persistent_disk_csi_driver_config": {"enabled": True},
                "gcs_fuse_csi_driver_config": {"enabled": "gcsfuse" in drivers},
                "gcp_filestore_csi_driver_config": {"enabled": "filestore" in drivers},
                "lustre_csi_driver_config": {"enabled": "lustre" in drivers},
            },
            logging_config={"enable_components": list(LOGS)},
            monitoring_config={"enable_components": list(METRICS), "managed_prometheus": {"enabled": True}},
            # GKE makes a first node pool with every cluster. It goes at once, and until then is no better than the others.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=safe_node_config(self.node_service_account),
            deletion_protection=plan.deletion_protection,
            resource_labels=dict(plan.labels),
            opts=ResourceOptions(
                parent=self,
                depends_on=list(after),
                # The first node pool is gone, so that GKE tells of another one here, or of none.
                ignore_changes=["nodeConfig"],
            ),
        )

    @staticmethod
    def _access(plan: GkeClusterPlan) -> dict[str, Any]:
        """Who reaches the API. Nodes have no public address in any case.

        By its name the API is open to the internet, and IAM guards it before anything of the cluster is asked; the addresses
        are closed then.
        """
        by_name = plan.access == "dns"
        callers = [{"cidr_block": each, "display_name": each} for each in plan.callers]
        networks = {"gcp_public_cidrs_access_enabled": False, "cidr_blocks": callers}
        return {
            "private_cluster_config": {"enable_private_nodes": True, "enable_private_endpoint": plan.access == "private"},
            "control_plane_endpoints_config": {
                "dns_endpoint_config": {"allow_external_traffic": by_name},
                "ip_endpoints_config": {"enabled": not by_name},
            },
            **({} if by_name else {"master_authorized_networks_config": networks}),
        }

    def _admins(self, plan: GkeClusterPlan, cluster: Resource) -> None:
        for admin in plan.admins:
            projects.IAMMember(
                f"{self._name}-admin-{admin.key}",
                project=plan.project,
                role=ADMIN_ROLE,
                member=admin.member,
                condition={"title": f"Cluster {plan.name}", "expression": plan.admin_condition},
                opts=ResourceOptions(parent=self, depends_on=[cluster]),
            )

    def _system_nodes(self, plan: GkeClusterPlan, cluster: container.Cluster, after: Sequence[Resource]) -> None:
        container.NodePool(
            f"{self._name}-system",
            project=plan.project,
            cluster=cluster.name,
            location=cluster.location,
            node_locations=[plan.zone],
            node_count=plan.system_nodes,
            management={"auto_repair": True, "auto_upgrade": True},
            upgrade_settings={"strategy": "SURGE", "max_surge": 1, "max_unavailable": 0},
            network_config={"enable_private_nodes": True},
            node_config={
                **safe_node_config(self.node_service_account),
                "machine_type": plan.system_machine_type,
                "image_type": "COS_CONTAINERD",
                "disk_type": "pd-balanced",
                "disk_size_gb": _SYSTEM_DISK_GIB,
                "labels": {"gpufabric.dev/system": "true"},
                "resource_labels": dict(plan.labels),
            },
            opts=ResourceOptions(parent=self, depends_on=list(after)),
        )
