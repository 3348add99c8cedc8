"""Kueue on the local cluster: what is applied, from the pinned module's own files."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.errors import ToolError
from tools.localcluster import kueue
from tools.localcluster.addresses import Addresses
from tools.localcluster.api import object_path
from tools.localcluster.cluster import Cluster, Wish
from tools.toolchain.programs import Program, read_programs, select

ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "manager-role"}, "rules": []}
SERVICE = {"name": "webhook-service", "namespace": "system"}


def webhook(name: str, group: str) -> dict[str, Any]:
    service = {**SERVICE, "path": f"/{name}"}
    return {"name": name, "clientConfig": {"service": service}, "rules": [{"apiGroups": [group], "resources": ["x"]}]}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program of the table, with files as its module has them."""
    (found,) = select(read_programs(), "kueue")
    texts = {
        "config/components/crd/bases/kueue.x-k8s.io_workloads.yaml": "kind: CustomResourceDefinition\n",
        "config/components/rbac/role.yaml": yaml.safe_dump(ROLE),
        "config/components/webhook/manifests.yaml": yaml.safe_dump_all(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": f"{kind[:8].lower()}-configuration"},
                "webhooks": [
                    webhook("job", "batch"),
                    webhook("pod", ""),
                    webhook("ray", "ray.io"),
                    webhook("q", "kueue.x-k8s.io"),
                ],
            }
            for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        ),
    }
    for name, text in texts.items():
        assert any(name.startswith(kept) for kept in found.files)
        (found.share / name).parent.mkdir(parents=True, exist_ok=True)
        (found.share / name).write_text(text)
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    made = Cluster("unit", Addresses(3), Wish(), {}, "pause", tmp_path)
    made.pki.folder.mkdir(parents=True)
    for file in (made.pki.ca, made.pki.certificate("kueue"), made.pki.key("kueue")):
        file.write_text(file.name)
    return made


def by_path(cluster: Cluster, program: Program) -> dict[str, Any]:
    return {object_path(each): each for each in kueue.objects(cluster, program)}


def test_paths_and_order(cluster: Cluster, program: Program) -> None:
    assert kueue.definitions(program) == {"workloads.kueue.x-k8s.io": "kind: CustomResourceDefinition\n"}
    assert list(by_path(cluster, program)) == [
        "/api/v1/namespaces/kueue-system",
        "/api/v1/namespaces/kueue-system/serviceaccounts/kueue-controller-manager",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/kueue-controller-manager-role",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kueue-controller-manager-role",
        "/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert",
        "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config",
        "/api/v1/namespaces/kueue-system/services/kueue-webhook-service",
        "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/kueue-mutating-configuration",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kueue-validati-configuration",
    ]


def test_only_webhooks_of_what_is_switched_on(cluster: Cluster, program: Program) -> None:
    """One for pods that nobody answers would stop every pod of the cluster, the gate's own too."""
    found = [each for at, each in by_path(cluster, program).items() if "webhookconfigurations" in at]
    assert [[each["name"] for each in configuration["webhooks"]] for configuration in found] == [["job", "q"], ["job", "q"]]
    for each in found[0]["webhooks"]:
        assert each["clientConfig"]["service"]["name"] == "kueue-webhook-service"
        assert each["clientConfig"]["service"]["namespace"] == "kueue-system"
        assert each["clientConfig"]["caBundle"] == "Y2EuY3J0", "the cluster's CA"


def test_it_runs_the_built_program_on_the_system_node(cluster: Cluster, program: Program) -> None:
    deployment = by_path(cluster, program)["/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"]
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpufabric.dev/pool": "system"}
    assert {"name": "program", "hostPath": {"path": str(program.installed), "type": "File"}} in pod["volumes"]


def test_a_share_folder_that_somebody_emptied(program: Program) -> None:
    for file in program.share.rglob("*.yaml"):
        file.unlink()
    with pytest.raises(ToolError, match=r"lacks Kueue's CRDs; remove .* and run the command again"):
        kueue.definitions(program)
