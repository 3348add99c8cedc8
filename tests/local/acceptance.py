"""What the real API server says of everything that a program declares in a cluster: a dry run, strict about fields."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gpufabric.plan.model import GroupPlan
from gpufabric.validation.api import Api, ApiError, path
from tests.kubernetes.mocked import Recording

_DRY = "?dryRun=All&fieldValidation=Strict"
_TYPE = "kubernetes:"
POD_KINDS = ("DaemonSet", "Deployment", "Job")
NEEDED = ("Namespace", "ServiceAccount")
"""Without them the server refuses what lies in one, and pods that run under the other."""
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "acme/train:1", "command": ["train"]}]}
        }
    },
}


class Server:
    """The API server, and where its kinds are."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    def accept(self, obj: Mapping[str, Any]) -> None:
        """Have an object judged; raises AssertionError with the server's own words."""
        meta = obj["metadata"]
        try:
            self.api.create(self._at(obj["apiVersion"], obj["kind"], meta.get("namespace", "default")) + _DRY, obj)
        except ApiError as error:
            raise AssertionError(f"{obj['kind']} {meta.get('name')}: {error}") from None

    def make(self, obj: Mapping[str, Any]) -> None:
        """Create an object for good, unless it is there: others are refused without it."""
        try:
            self.api.create(self._at(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", "default")), obj)
        except ApiError as error:
            if error.status != 409:
                raise

    def _at(self, version: str, kind: str, namespace: str) -> str:
        group, _, number = version.rpartition("/")
        plural, namespaced = self._of(version)[kind]
        return path(plural, namespace=namespace if namespaced else "", group=group, version=number)

    def _of(self, version: str) -> dict[str, tuple[str, bool]]:
        if version not in self._kinds:
            listed = self.api.get(f"/api{'s' if '/' in version else ''}/{version}")["resources"]
            self._kinds[version] = {
                each["kind"]: (each["name"], each["namespaced"]) for each in listed if "/" not in each["name"]
            }
        return self._kinds[version]


def declared(recording: Recording) -> list[dict[str, Any]]:
    """The objects of a cluster that a program makes, as they would be sent."""
    made = [each for each in recording.resources if each.type.startswith(_TYPE) and not each.read]
    # Pulumi names what the program does not, after the resource.
    named = [{**each.inputs, "metadata": {"name": each.name, **each.inputs.get("metadata", {})}} for each in made]
    return [{**body, **_typed(each.type)} for body, each in zip(named, made, strict=True)]


def _typed(token: str) -> dict[str, str]:
    """``kubernetes:apps/v1:DaemonSet`` as a cluster writes it."""
    _, version, kind = token.split(":")
    return {"apiVersion": version.removeprefix("core/"), "kind": kind}


def accept_sample(server: Server, recording: Recording, groups: Iterable[GroupPlan]) -> list[dict[str, Any]]:
    """Have all judged: what Pulumi makes, the rank Jobs of the gates, jobs with the profiles, and the pods of all of them."""
    objects = declared(recording)
    needed = [each for each in objects if each["kind"] in NEEDED]
    for each in needed:
        server.make(each)
    jobs = [group.profile.apply_to(JOB) for group in groups]
    judged = with_pods(each for each in [*objects, *jobs] if each not in needed)
    for each in judged:
        server.accept(each)
    assert {each["kind"] for each in judged} >= {"ConfigMap", "Job", "Pod"}
    assert len(judged) > len(objects) - len(needed) + len(jobs), "and their pods"
    return judged


def with_pods(objects: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The objects, the rank Jobs that coordinators create, and the pods of all: pods are held to more rules than templates."""
    found = [dict(each) for each in objects]
    found += [json.loads(each["data"]["gate.json"])["rank_job"] for each in found if "gate.json" in each.get("data", {})]
    return [*found, *(_pod(each) for each in found if each["kind"] in POD_KINDS)]


def _pod(owner: Mapping[str, Any]) -> dict[str, Any]:
    template = owner["spec"]["template"]
    metadata = {**template.get("metadata", {}), "name": "a-pod", "namespace": owner["metadata"].get("namespace", "default")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
