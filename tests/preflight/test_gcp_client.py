"""Who asks Google, and what becomes of questions without an answer."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.oauth2.credentials import Credentials

from gpufabric.preflight.gcp import preflight_gcp
from gpufabric.preflight.gcp_client import PERMISSIONS, Google, GoogleError
from gpufabric.spec import SpecError
from tests.plan.gcp.test_any_value import FOUND
from tests.plan.gcp.wishes import ULTRA, plan_of, with_group
from tests.preflight.google_project import (
    CLUSTER,
    CLUSTERS,
    HERE,
    IN_REGION,
    JUNE,
    MACHINE,
    PROFILES,
    PROJECT,
    QUOTA_INFOS,
    Project,
    exist,
    reserve,
    says,
)
from tools.serving import Serving


def test_only_what_the_docs_list_is_asked_and_nothing_is_changed(project: Project) -> None:
    exist(project)
    reserve(project, resourcePolicies={"0": f"{IN_REGION}/resourcePolicies/near"})
    project.hold(f"{IN_REGION}/resourcePolicies/near")
    project.hold(f"{JUNE}/reservationBlocks/b-1", count=4, inUseCount=0)
    block = with_group(capacity={"kind": "reservation", "id": "june", "block": "b-1", "placement_policy": "near"})
    home = {"home": {"kind": "filestore", "existing": "home"}}
    project.hold(f"projects/{PROJECT}/locations/us-central1-a/instances/home", "file")
    driver = {"gcpFilestoreCsiDriverConfig": {"enabled": True}}
    addons = {**CLUSTER["addonsConfig"], **driver}
    project.put("container", f"{CLUSTERS}/shared", {"name": "shared", **CLUSTER, "addonsConfig": addons})
    asked: set[str] = set()
    google = project.google()
    answer = google.get

    def get(permission: str, path: str, **query: Any) -> Any:
        asked.add(permission)
        return answer(permission, path, **query)

    google.get = get  # type: ignore[method-assign]
    for raw in (ULTRA, FOUND, block, {**FOUND, "filesystems": home}):
        preflight_gcp(plan_of(raw), google)
    project.lose(MACHINE, f"{PROFILES}/us-central1-a-vpc-roce", JUNE)
    google._answers.clear()
    with pytest.raises(SpecError):
        preflight_gcp(plan_of(with_group(capacity={"kind": "reservation", "id": "june"})), google)
    assert asked == set(PERMISSIONS)
    assert project.apis.changes() == []


def test_what_may_not_be_asked_is_counted_and_the_rest_is_still_asked(project: Project) -> None:
    project.refuse("compute regions.get", "Required 'compute.regions.get' permission for 'projects/acme-training/regions/x'")
    project.refuse("container *.getServerConfig", 'Required "container.clusters.list" permission(s) for "projects/x".')
    project.switch_off("cloudquotas")
    project.lose(f"{PROFILES}/us-central1-a-vpc-roce")
    profile, *unchecked = says(ULTRA, project)
    assert profile.startswith("zone: us-central1-a has no network profile")
    assert unchecked == [
        (
            "not checked: the quota GPUS-PER-GPU-FAMILY-per-project-region of NVIDIA_H200 "
            "(cloudquotas.googleapis.com is off in acme-training); "
            "gcloud services enable cloudquotas.googleapis.com --project acme-training"
        ),
        (
            "not checked: the quotas of disks, the quota of vCPUs (these credentials may not compute.regions.get); "
            "ask for it; docs/preflight.md has the list"
        ),
        (
            "not checked: GKE's versions (these credentials may not container.clusters.list); "
            "ask for it; docs/preflight.md has the list"
        ),
        "4 of 13 questions have no answer: `pulumi up` may still fail there",
    ]


def test_what_google_does_not_list_is_not_passed_over(project: Project) -> None:
    project.hold(f"projects/{PROJECT}", quotas=[])
    project.lose(f"{QUOTA_INFOS}/GPUS-PER-GPU-FAMILY-per-project-region")
    raw = {**ULTRA, "cluster": {"system_nodes": {"machine_type": "n4-standard-4"}}}
    project.hold(f"{HERE}/machineTypes/n4-standard-4", guestCpus=4)
    assert says(raw, project)[-1] == "4 of 13 questions have no answer: `pulumi up` may still fail there"


def test_an_overloaded_google_is_asked_again_and_then_said(project: Project) -> None:
    project.refuse("compute zones.get", status=503, times=2)
    assert says(ULTRA, project) == []
    project.refuse("compute zones.get", "Service unavailable. Try again later.", status=503)
    assert says(ULTRA, project)[0].startswith("not checked: the zone us-central1-a, the machine a3-ultragpu-8g")


def test_a_project_that_is_not_there_is_the_first_line(project: Project) -> None:
    raw = {**ULTRA, "project": "acme-other"}
    google = Google("acme-other", project.google()._credentials, f"{project.apis.url}/")
    with pytest.raises(SpecError, match=r"^project: Google knows no project acme-other; check its id, and who is logged in"):
        preflight_gcp(plan_of(raw), google)


class Answers(Serving):
    """A server that has one answer for everything."""

    def __init__(self, status: int, body: Any) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Nobody reads it."""

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815 - the base class's name

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


def fails(google: Google) -> str:
    with pytest.raises(SpecError) as failed:
        preflight_gcp(plan_of(ULTRA), google)
    return str(failed.value)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without credentials; nobody looks for a metadata server."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    return monkeypatch


def key_file(folder: Path, **more: str) -> str:
    file = folder / "key.json"
    file.write_text(json.dumps(more))
    return str(file)


def test_without_google_auth_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    said = "google-auth is not installed, and only it finds Google's credentials; pip install 'gpufabric[gcp-preflight]'"
    assert said in fails(Google(PROJECT))


@pytest.mark.usefixtures("machine")
def test_without_credentials_one_line_says_so() -> None:
    said = fails(Google(PROJECT))
    assert said.startswith("no credentials of Google Cloud were found: ")
    assert "gcloud auth application-default login" in said
    assert "\n" not in said


def test_credentials_that_google_does_not_take_are_one_line(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Answers(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}) as tokens:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        account = {"type": "service_account", "client_email": "ci@acme.iam.gserviceaccount.com", "private_key": pem}
        machine.setenv("GOOGLE_APPLICATION_CREDENTIALS", key_file(tmp_path, **account, token_uri=tokens.url))
        said = fails(Google(PROJECT))
    assert said.startswith("Google does not take these credentials: ('invalid_grant: Invalid JWT Signature.'")
    assert "\n" not in said


def test_a_token_that_has_run_out_is_one_line(project: Project) -> None:
    project.refuse("compute projects.get", status=401)
    said = fails(Google(PROJECT, Credentials("old"), f"{project.apis.url}/"))  # type: ignore[no-untyped-call]
    assert said.startswith("Google does not take these credentials: ")


def test_questions_of_a_user_are_counted_for_the_project(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    user = {"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}
    machine.setenv("GOOGLE_APPLICATION_CREDENTIALS", key_file(tmp_path, **user))
    assert Google(PROJECT)._default().quota_project_id == PROJECT
    machine.setenv("GOOGLE_APPLICATION_CREDENTIALS", key_file(tmp_path, **user, quota_project_id="theirs"))
    assert Google(PROJECT)._default().quota_project_id == "theirs"


def test_a_network_without_google_is_one_line(project: Project) -> None:
    nobody = project.google()
    nobody._root = "http://127.0.0.1:1/"
    said = fails(nobody)
    assert said.startswith("Google does not answer: ")
    assert said.endswith("check the network, and HTTPS_PROXY where there is one")


def test_a_proxy_that_answers_in_googles_place_is_told(project: Project) -> None:
    with Answers(200, "<html>please log in</html>") as proxy:
        stranger = project.google()
        stranger._root = f"{proxy.url}/"
        assert "is not Google: no JSON, status 200" in fails(stranger)


def test_every_page_of_a_list_is_read(project: Project) -> None:
    google = project.google()
    pages: dict[str, Any] = {"": {"items": [1], "nextPageToken": "b"}, "b": {"items": [2]}}
    google.get = lambda permission, path, **query: pages[query.get("pageToken", "")]  # type: ignore[method-assign]
    assert [page["items"] for page in google.pages("compute.reservationBlocks.list", "x")] == [[1], [2]]


@pytest.mark.parametrize(
    ("says", "permission"),
    [
        ("Required 'compute.regions.get' permission for 'projects/p/regions/r'", "compute.regions.get"),
        ('Required "container.clusters.get" permission(s) for "projects/p".', "container.clusters.get"),
        ("ci@x does not have storage.buckets.get access to the Google Cloud Storage bucket.", "storage.buckets.get"),
        ("Permission 'file.instances.get' denied on resource", "file.instances.get"),
        ("The caller does not have permission", "compute.zones.get"),  # then what was asked
    ],
)
def test_a_missing_permission_is_named_as_google_names_it(says: str, permission: str) -> None:
    error = GoogleError(403, {"error": {"message": says}}, "compute.zones.get", PROJECT)
    assert error.reason == f"these credentials may not {permission}"
