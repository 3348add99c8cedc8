"""S3Bucket: closed, versioned, encrypted, kept; pods reach it by a role; one that exists is left as it is."""

import json
from typing import Any

import pytest

from gpufabric.aws import S3Bucket
from tests.aws.cloud import run_on_aws
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import refused

ACCOUNTS = [{"namespace": "train", "name": "loader"}]
SETTINGS = {
    "BucketPublicAccessBlock",
    "BucketOwnershipControls",
    "BucketVersioning",
    "BucketServerSideEncryptionConfiguration",
    "BucketLifecycleConfiguration",
    "BucketPolicy",
}


def bucket(args: dict[str, Any], **how: Any) -> Recording:
    return run_on_aws(lambda: S3Bucket("data", args), **how)  # type: ignore[arg-type]


def test_a_bucket_is_closed_versioned_and_encrypted() -> None:
    made = bucket({"name": "acme-weights"})
    assert {each.type.split(":")[-1] for each in made.resources} == {"S3Bucket", "Bucket", *SETTINGS}
    closed = made.one("BucketPublicAccessBlock").inputs
    switches = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    assert [closed[each] for each in switches] == [True] * 4
    assert made.one("BucketVersioning").inputs["versioningConfiguration"] == {"status": "Enabled"}
    assert made.one("BucketOwnershipControls").inputs["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    (rule,) = made.one("BucketServerSideEncryptionConfiguration").inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "AES256"}


def test_nobody_speaks_to_it_without_tls() -> None:
    policy = made_policy(bucket({"name": "acme-weights"}).one("BucketPolicy").inputs["policy"])
    assert (policy["Effect"], policy["Principal"], policy["Action"]) == ("Deny", "*", "s3:*")
    assert policy["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert policy["Resource"] == ["arn:aws:s3:::made", "arn:aws:s3:::made/*"]


def made_policy(text: str) -> dict[str, Any]:
    (statement,) = json.loads(text)["Statement"]
    found: dict[str, Any] = statement
    return found


def test_what_was_never_finished_and_what_was_overwritten_goes_after_a_while() -> None:
    made = bucket({"name": "acme-weights", "dangling_upload_days": 2, "old_version_days": 5})
    rules = {each["id"]: each for each in made.one("BucketLifecycleConfiguration").inputs["rules"]}
    assert rules["dangling-uploads"]["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 2}
    assert rules["old-versions"]["noncurrentVersionExpiration"] == {"noncurrentDays": 5}
    assert {each["status"] for each in rules.values()} == {"Enabled"}
    assert not any("expiration" in each for each in rules.values()), "nothing that is current is removed"


@pytest.mark.parametrize("protect", [True, False])
def test_bucket_and_settings_are_kept_together(protect: bool) -> None:
    made = bucket({"name": "acme-weights", "protect": protect})
    kept = {each.type.split(":")[-1] for each in made.resources if each.options.get("retainOnDelete")}
    assert kept == ({"Bucket", *SETTINGS} if protect else set())


@pytest.mark.parametrize(
    ("access", "actions"),
    [
        ("read", ["s3:GetObject"]),
        ("write", ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]),
    ],
)
def test_pods_may_do_what_was_asked_for_and_no_more(access: str, actions: list[str]) -> None:
    made = bucket({"name": "acme-weights", "cluster_name": "training", "service_accounts": ACCOUNTS, "access": access})
    listing, objects = json.loads(made.one("RolePolicy").inputs["policy"])["Statement"]
    assert (listing["Action"], listing["Resource"]) == ("s3:ListBucket", "arn:aws:s3:::made")
    assert (objects["Action"], objects["Resource"]) == (actions, "arn:aws:s3:::made/*")
    trusted = made_policy(made.one("Role").inputs["assumeRolePolicy"])
    assert trusted["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    association = made.one("PodIdentityAssociation")
    assert association.inputs["clusterName"] == "training"
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == ("train", "loader")
    assert made.one("RolePolicy").label in association.options["dependencies"]


def test_a_bucket_that_exists_is_left_as_it_is() -> None:
    args = {"name": "acme-data", "existing": True, "cluster_name": "training", "service_accounts": ACCOUNTS}
    made = bucket(args)
    assert made.one("Bucket").read == "acme-data"
    assert not SETTINGS & {each.type.split(":")[-1] for each in made.resources}
    policy = json.loads(made.one("RolePolicy").inputs["policy"])
    assert policy["Statement"][0]["Resource"] == "arn:aws:s3:::acme-data"


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "dots": (
        {"name": "acme.weights"},
        ["data.name: 'acme.weights' is not the name of a bucket (3 to 63 of a-z, 0-9 and -); write for example acme-weights"],
    ),
    "accounts of no cluster": (
        {"name": "acme-weights", "service_accounts": ACCOUNTS},
        ["data.service_accounts: service accounts of no cluster; give cluster_name too, or leave them out"],
    ),
    "an account twice": (
        {"name": "acme-weights", "cluster_name": "training", "service_accounts": ACCOUNTS * 2},
        ["data.service_accounts: train/loader is listed twice; write it once"],
    ),
    "settings of a bucket that exists": (
        {"name": "acme-data", "existing": True, "protect": False},
        ["data.protect: the bucket exists and keeps its own settings; leave it out"],
    ),
    "access": (
        {"name": "acme-weights", "access": "admin"},
        ["data.access: 'admin' is not a choice here; write read or write"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    assert refused(lambda recording: bucket(args, recording=recording)) == says
