"""GcsBucket: private, with a way back, reached by identity; a bucket that exists; and what is refused."""

from typing import Any

import pytest

from gpufabric.gcp import GcsBucket
from tests.gcp.cloud import run_on_gcp
from tests.kubernetes.mocked import Recording
from tests.kubernetes.refused import begin, refused

ARGS: dict[str, Any] = {"project": "acme-training", "region": "us-central1", "name": "acme-weights"}
POD = {"namespace": "default", "name": "trainer"}
PRINCIPAL = (
    "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
    "acme-training.svc.id.goog/subject/ns/default/sa/trainer"
)


def bucket(changes: dict[str, Any] | None = None, without: tuple[str, ...] = (), **how: Any) -> Recording:
    args: Any = {key: value for key, value in {**ARGS, **(changes or {})}.items() if key not in without}
    return run_on_gcp(lambda: GcsBucket("weights", args), **how)


def test_a_bucket_is_private_has_real_folders_and_a_way_back() -> None:
    made = bucket({"tags": {"owner": "ml"}})
    inputs = made.one("Bucket").inputs
    assert (inputs["name"], inputs["location"], inputs["labels"]) == ("acme-weights", "US-CENTRAL1", {"owner": "ml"})
    assert inputs["uniformBucketLevelAccess"] is True
    assert inputs["publicAccessPrevention"] == "enforced"
    assert inputs["hierarchicalNamespace"] == {"enabled": True}
    assert inputs["softDeletePolicy"] == {"retentionDurationSeconds": 7 * 86_400}
    assert inputs["forceDestroy"] is False
    (rule,) = inputs["lifecycleRules"]
    assert rule == {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}}
    assert (made.one("GcsBucket").outputs or {})["bucket_name"] == "acme-weights"
    assert not made.of("BucketIAMMember")


def test_the_bucket_outlives_the_stack_unless_it_need_not() -> None:
    assert bucket().one("Bucket").options["retainOnDelete"] is True
    assert bucket({"protect": False}).one("Bucket").options["retainOnDelete"] is False


@pytest.mark.parametrize(("access", "role"), [("read", "roles/storage.objectViewer"), ("write", "roles/storage.objectUser")])
def test_pods_reach_it_by_their_identity(access: str, role: str) -> None:
    member = bucket({"service_accounts": [POD], "access": access}).one("BucketIAMMember").inputs
    assert member == {"bucket": "acme-weights", "role": role, "member": PRINCIPAL}


def test_some_only_read_whatever_others_may() -> None:
    loader = {"namespace": "default", "name": "loader"}
    made = bucket({"service_accounts": [loader], "readers": [POD]})
    roles = {each.inputs["member"].rpartition("/")[2]: each.inputs["role"] for each in made.of("BucketIAMMember")}
    assert roles == {"loader": "roles/storage.objectUser", "trainer": "roles/storage.objectViewer"}
    assert refused(lambda recording: bucket({"service_accounts": [POD], "readers": [POD]}, recording=recording)) == [
        "weights.service_accounts: default/trainer is listed twice; write it once"
    ]


def test_of_a_bucket_that_exists_only_who_reaches_it_is_said() -> None:
    made = bucket({"name": "acme-data", "existing": True, "service_accounts": [POD]}, without=("region",))
    assert made.one("Bucket").read == "acme-data"
    assert made.one("BucketIAMMember").inputs["member"] == PRINCIPAL


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...], list[str]]] = {
    "no region": ({}, ("region",), ["weights.region: missing; write the region of the GPU nodes"]),
    "Google's own name": ({"name": "google-weights"}, (), ["weights.name: 'google-weights' is not the name of a bucket "]),
    "a domain": ({"name": "weights.acme.com"}, (), ["weights.name: 'weights.acme.com' is not the name of a bucket "]),
    "a short way back": (
        {"soft_delete_days": 3},
        (),
        ["weights.soft_delete_days: 3 days; Cloud Storage keeps deleted objects for 7 to 90 days, or not at all; write 7, or "],
    ),
    "an account twice": ({"service_accounts": [POD, POD]}, (), ["weights.service_accounts: default/trainer is listed twice; "]),
    "existing and decided": (
        {"existing": True, "soft_delete_days": 8, "hierarchical_namespace": False},
        (),
        [
            "weights.hierarchical_namespace: the bucket exists and keeps its own settings; leave it out",
            "weights.soft_delete_days: the bucket exists and keeps its own settings; leave it out",
        ],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    changes, without, says = BAD[case]
    said = refused(lambda recording: bucket(changes, without, recording=recording))
    assert begin(said, says), said
