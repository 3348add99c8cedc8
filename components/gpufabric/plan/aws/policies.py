"""IAM documents, as values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpufabric.plan.aws.regions import partition_of, service_principal

POD_IDENTITY = "pods.eks.amazonaws.com"


def document(*statements: Mapping[str, Any]) -> str:
    """A policy as JSON, in one spelling."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, sort_keys=True)


def trust(service: str, region: str) -> str:
    """Let a service of AWS take the role."""
    return document(
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service_principal(service, region)}}
    )


def pod_identity_trust() -> str:
    """Let EKS Pod Identity give the role to pods; it tags the session with cluster, namespace and service account."""
    actions = ["sts:AssumeRole", "sts:TagSession"]
    return document({"Effect": "Allow", "Action": actions, "Principal": {"Service": POD_IDENTITY}})


def managed_policy(name: str, region: str) -> str:
    """ARN of a policy that AWS maintains."""
    return f"arn:{partition_of(region)}:iam::aws:policy/{name}"


def tls_only(bucket_arn: str) -> str:
    """Refuse whoever speaks to the bucket without TLS."""
    return document(
        {
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [bucket_arn, f"{bucket_arn}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )


READ: Sequence[str] = ("s3:GetObject",)
WRITE: Sequence[str] = (*READ, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")


def bucket_access(access: str, *bucket_arns: str) -> str:
    """What pods may do with buckets: list them, and read or write their objects. No versions, no settings."""
    objects = [f"{arn}/*" for arn in bucket_arns]
    return document(
        {"Sid": "List", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": _one_or_all(bucket_arns)},
        {
            "Sid": "Objects",
            "Effect": "Allow",
            "Action": list(READ if access == "read" else WRITE),
            "Resource": _one_or_all(objects),
        },
    )


def _one_or_all(arns: Sequence[str]) -> str | list[str]:
    return arns[0] if len(arns) == 1 else list(arns)
