"""No removal while files are nowhere else: the API server itself refuses to delete the mount, and says how much is left.

The agents report what is dirty, one ConfigMap per node; an admission policy takes them as its parameters. It answers whoever
deletes, `pulumi destroy` and kubectl alike, and needs neither a webhook nor a program that runs while one deletes.
"""

from collections.abc import Mapping
from typing import Any

from gpufabric.mounts import contract

REPORT_RULES: tuple[Mapping[str, Any], ...] = ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]},)
"""The agent's rights, in the mount's namespace: it applies the report of its node."""

_CACHE = f"metadata.annotations['{contract.ANNOTATION_CACHE}']"


def guard(mount: str, namespace: str, daemon_set: str) -> dict[str, Any]:
    """The policy. A change that does not touch the cache's place is no removal."""
    files, size, node = (f"params.data.{key}" for key in (contract.REPORT_FILES, contract.REPORT_BYTES, contract.REPORT_NODE))
    says = (
        f"'mount {mount}: ' + {node} + ' holds ' + {files} + ' files (' + {size} + ' bytes) that are not in the bucket yet; "
        f"wait until they are uploaded. If that node is lost: kubectl -n {namespace} delete configmap ' + params.metadata.name"
    )
    return {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["apps"],
                    "apiVersions": ["v1"],
                    "operations": ["DELETE", "UPDATE"],
                    "resources": ["daemonsets"],
                    "resourceNames": [daemon_set],
                }
            ]
        },
        "matchConditions": [
            {"name": "this-mount", "expression": f"request.namespace == '{namespace}'"},
            {"name": "moves-or-ends", "expression": f"request.operation == 'DELETE' || object.{_CACHE} != oldObject.{_CACHE}"},
        ],
        "validations": [
            {
                "expression": f"{files} == '0'",
                "message": f"mount {mount}: a node holds files that are not in the bucket yet",
                "messageExpression": says,
                "reason": "Forbidden",
            }
        ],
    }


def guard_binding(mount: str, namespace: str, policy: str) -> dict[str, Any]:
    """Every report is asked. None at all: the mount never ran, and nothing is lost."""
    return {
        "policyName": policy,
        "validationActions": ["Deny"],
        "paramRef": {
            "namespace": namespace,
            "selector": {"matchLabels": {contract.LABEL_MOUNT: mount}},
            "parameterNotFoundAction": "Allow",
        },
    }
