"""Wishes for Google Cloud: names and ids by their shape, and what is said of a wrong one."""

import re
from typing import Any

import pytest

from gpufabric.spec import SpecError, parse_spec
from gpufabric.spec.gcp import GcpTrainingSpec, GkeGpuNodesSpec, GkeNodePoolSpec
from gpufabric.spec.gcp.labels import MOST_LABELS
from tests.plan.gcp.wishes import ULTRA
from tests.spec.specs import GONE, changed


def says(raw: dict[str, Any]) -> list[str]:
    try:
        assert isinstance(parse_spec(raw), GcpTrainingSpec)
    except SpecError as error:
        return str(error).split("\n")
    return []


GOOD: dict[str, dict[str, Any]] = {
    "the wish itself": {},
    "a zone for AI": {"zone": "us-central1-ai1a"},
    "a region of two digits": {"region": "europe-west12", "zone": "europe-west12-b"},
    "a reservation by its name": {"group__capacity": {"kind": "reservation", "id": "june"}},
    "a reservation by its path": {"group__capacity": {"kind": "reservation", "id": "projects/acme-capacity/reservations/june"}},
    "labels": {"tags": {"owner": "ml-platform", "cost_center": "", "team": "7"}},
    "the orchestrator by its name": {"orchestrator": "kubernetes"},
    "storage": {"stores": {"w": {"name": "acme-w"}}, "filesystems": {"data": {"size_gib": 36000}}},
}


@pytest.mark.parametrize("case", GOOD)
def test_what_is_well_formed(case: str) -> None:
    assert says(changed(ULTRA, **GOOD[case])) == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no project": ({"project": GONE}, "project: missing; this key is required"),
    "a project's number": ({"project": "123456789012"}, r"project: '123456789012' is not the id of a project .*"),
    "a number for a project": ({"project": 123}, "project: expected a text, found 123; put it in quotes"),
    "a zone of AWS": ({"zone": "us-east-2b"}, "zone: 'us-east-2b' is not the name of a zone; write for example us-central1-a"),
    "a region as a zone": ({"zone": "us-central1"}, r"zone: 'us-central1' is not the name of a zone; .*"),
    "a zone as a region": ({"region": "us-central1-a"}, r"region: 'us-central1-a' is not a region of Google Cloud; .*"),
    "a label in upper case": ({"tags": {"Owner": "ml"}}, r"tags: 'Owner=ml' is not a label of Google Cloud; use a-z, 0-9, .*"),
    "a label with a dot": ({"tags": {"owner": "ml.platform"}}, r"tags: 'owner=ml.platform' is not a label of .*"),
    "a label of Google's": ({"tags": {"goog-gke": "x"}}, "tags: 'goog-gke' begins with goog, which is Google's own; .*"),
    "too many labels": (
        {"tags": {f"k{number}": "" for number in range(MOST_LABELS + 1)}},
        f"tags: {MOST_LABELS + 1} tags; write at most {MOST_LABELS}",
    ),
    "the key of another cloud": ({"group__ami_type": "AL2023"}, r"node_groups\[0\].ami_type: unknown key; .*"),
    "VMs": ({"orchestrator": "vm"}, "orchestrator: vm is not built yet; write kubernetes, or leave it out"),
    "a role that is none": (
        {"storage": {"weights": {}}},
        "storage.weights: unknown key; known keys: dataset, model, checkpoint, scratch, service_account",
    ),
    "a role in a folder that images fill": (
        {"storage": {"model": {"path": "/usr"}}},
        "storage.model.path: /usr is empty in no image, and a mount hides what is below it; write a folder of its own, .*",
    ),
    "a queue that says who provides": (
        {"scheduler": {"kind": "kueue", "provisioning": {"kind": "gke_queued"}}},
        "scheduler.provisioning: unknown key; .*",
    ),
    "two groups of one name": (
        {"node_groups": ULTRA["node_groups"] * 2},
        "node_groups: two groups are named train; give every group a name of its own",
    ),
    "no group": ({"node_groups": []}, "node_groups: no node group; write at least one"),
    "an attachment that is none": (
        {"group__fabric_attachment": "both"},
        r"node_groups\[0\].fabric_attachment: 'both' is not a choice here; write networks or dranet",
    ),
    "a minute's life": (
        {"group__capacity": {"kind": "flex_start", "max_run_seconds": 60}},
        r"node_groups\[0\].capacity.max_run_seconds: 60 is out of range; write a number from 600 up",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_malformed_is_said_in_one_line(case: str) -> None:
    changes, pattern = BAD[case]
    (line,) = says(changed(ULTRA, **changes))
    assert re.fullmatch(pattern, line), line


def test_a_pool_alone_says_where_it_is() -> None:
    more = GkeGpuNodesSpec.model_fields.keys() - GkeNodePoolSpec.model_fields.keys()
    assert more == {"project", "zone", "kubernetes_version", "network_profile", "tags"}
    with pytest.raises(SpecError) as caught:
        GkeGpuNodesSpec.parse({"name": "train", "nodes": 2, "network_profile": "vpc-roce"}, "pool")
    assert [problem.path for problem in caught.value.problems] == ["pool.project", "pool.zone", "pool.network_profile"]
