"""What the nodes of all node pools share: an account that may do little, and a machine that boots only what was signed."""

from collections.abc import Sequence
from typing import Any

from pulumi import Resource, ResourceOptions
from pulumi_gcp import projects, serviceaccount

from gpufabric.plan.gcp.cluster import NODE_ROLES, NODE_SCOPE


def node_account(
    name: str, account_id: str, project: str, opts: ResourceOptions
) -> tuple[serviceaccount.Account, Sequence[Resource]]:
    """The nodes' account, instead of Compute Engine's own, which may edit the project; and what is needed before a node."""
    account = serviceaccount.Account(name, project=project, account_id=account_id, display_name=f"Nodes of {name}", opts=opts)
    roles = [
        projects.IAMMember(
            f"{name}-{role.rpartition('/')[2].replace('.', '-')}",
            project=project,
            role=role,
            member=account.member,
            opts=opts,
        )
        for role in NODE_ROLES
    ]
    return account, roles


def safe_node_config(account: Any, *, secure_boot: bool = True) -> dict[str, Any]:
    """The part of a node pool's config that has to do with safety. ``account``: email of the nodes' own."""
    return {
        "service_account": account,
        "oauth_scopes": [NODE_SCOPE],
        # Pods get identities of their own, and nobody the node's credentials by the old addresses of the metadata server.
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "metadata": {"disable-legacy-endpoints": "true"},
        "shielded_instance_config": {"enable_secure_boot": secure_boot, "enable_integrity_monitoring": True},
    }
