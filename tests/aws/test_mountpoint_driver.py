"""MountpointDriver: one add-on at the version of the table, one role, the buckets that it was given."""

import json
from typing import Any

from gpufabric.aws import MountpointDriver
from gpufabric.hardware.bucket_drivers import bucket_drivers
from tests.aws.cloud import run_on_aws
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import refused

ARNS = ["arn:aws:s3:::acme-weights", "arn:aws:s3:::acme-data"]


def driver(recording: Recording | None = None, **change: Any) -> Recording:
    args: Any = {"cluster_name": "training", "bucket_arns": ARNS, **change}
    return run_on_aws(lambda: MountpointDriver("s3", args), recording=recording)


def objects(made: Recording) -> dict[str, Any]:
    listed, found = json.loads(made.one("RolePolicy").inputs["policy"])["Statement"]
    assert (listed["Action"], found["Effect"]) == ("s3:ListBucket", "Allow")
    return {"buckets": listed["Resource"], "objects": found["Resource"], "actions": found["Action"]}


def test_the_add_on_comes_after_its_identity_at_the_pinned_version() -> None:
    made = driver(tags={"owner": "ml"})
    addon, identity = made.one("Addon"), made.one("PodIdentityAssociation")
    row = bucket_drivers()["mountpoint"]
    assert (addon.inputs["addonName"], addon.inputs["addonVersion"]) == (row.addon, row.addon_version)
    assert (identity.inputs["namespace"], identity.inputs["serviceAccount"]) == ("kube-system", "s3-csi-driver-sa")
    assert identity.label in addon.options["dependencies"]
    assert made.one("RolePolicy").label in identity.options["dependencies"]
    assert [each.inputs["tags"] for each in (addon, identity, made.one("Role"))] == [{"owner": "ml"}] * 3


def test_it_reads_the_buckets_that_it_was_given_and_nothing_else() -> None:
    found = objects(driver())
    assert found == {"buckets": ARNS, "objects": [f"{arn}/*" for arn in ARNS], "actions": ["s3:GetObject"]}
    assert "s3:PutObject" in objects(driver(access="write"))["actions"]
    alone = objects(driver(bucket_arns=ARNS[:1]))
    assert (alone["buckets"], alone["objects"]) == (ARNS[0], f"{ARNS[0]}/*")


def test_a_wrong_wish_makes_nothing() -> None:
    said = refused(lambda recording: driver(access="all", recording=recording))
    assert said == ["s3.access: 'all' is not a choice here; write read or write"]
