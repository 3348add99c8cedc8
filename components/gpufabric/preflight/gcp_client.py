"""A reading client of Google's APIs: plain HTTPS, one GET at a time, and every refusal in our words.

google-auth finds the credentials and renews them; it is imported when something is first asked. The client libraries of
Google's APIs would bring a package for each, or 100 MB of descriptions of all.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

from gpufabric.preflight.questions import UnansweredError, not_allowed
from gpufabric.spec import Problem, SpecError

PERMISSIONS = (
    "cloudquotas.quotas.get",
    "compute.acceleratorTypes.get",
    "compute.machineTypes.get",
    "compute.machineTypes.list",
    "compute.networkProfiles.get",
    "compute.networkProfiles.list",
    "compute.networks.get",
    "compute.projects.get",
    "compute.regions.get",
    "compute.reservationBlocks.list",
    "compute.reservations.get",
    "compute.reservations.list",
    "compute.resourcePolicies.get",
    "compute.subnetworks.get",
    "compute.zones.get",
    "container.clusters.get",
    "container.clusters.list",
    "file.instances.get",
    "lustre.instances.get",
    "serviceusage.services.get",
    "storage.buckets.get",
)
"""All that a preflight asks for; it changes nothing. GKE's versions are allowed by ``container.clusters.list``."""

Json = Mapping[str, Any]
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"  # most of these APIs take no narrower one; only GETs are sent
_VERSIONS = {"compute": "compute/v1", "storage": "storage/v1"}
_TIMEOUT_S = 30.0
_TRIES = 3
_PASSING = (429, 500, 502, 503, 504)
_PERMISSION = re.compile(
    r"['\"]([a-z]+\.[\w.]+)['\"]\)? permission|Permission '([a-z]+\.[\w.]+)' denied|not have ([a-z]+\.[\w.]+) access"
)
_OFF = ("SERVICE_DISABLED", "accessNotConfigured")
_NO_CLIENT = Problem(
    "", "google-auth is not installed, and only it finds Google's credentials", "pip install 'gpufabric[gcp-preflight]'"
)
_LOOK_AT_NETWORK = "check the network, and HTTPS_PROXY where there is one"
_LOG_IN = "log in (gcloud auth application-default login), or name a key or a federation file by GOOGLE_APPLICATION_CREDENTIALS"


class GoogleError(UnansweredError):
    """Google answered a question with an error. ``status`` of HTTP; ``code`` is Google's word for the reason."""

    def __init__(self, status: int, body: Json, permission: str, project: str) -> None:
        error = body.get("error")
        told: Json = error if isinstance(error, Mapping) else {}
        self.status, self.message = status, str(told.get("message", "no reason given"))
        self.code = _code(told)
        super().__init__(*self._words(permission, project))

    def _words(self, permission: str, project: str) -> tuple[str, str]:
        if self.code in _OFF:
            api = f"{permission.partition('.')[0]}.googleapis.com"
            return f"{api} is off in {project}", f"gcloud services enable {api} --project {project}"
        if self.status == 403:
            found = _PERMISSION.search(self.message)
            refused = not_allowed(next(filter(None, found.groups())) if found else permission)
            return refused.reason, refused.fix
        return f"Google refused {permission}: {self.message} ({self.code or self.status})", "repair that, and look again"


class Google:
    """The project as these credentials may read it. Each thing is asked for once.

    ``credentials``: of google-auth; default those of this machine. ``root``: what stands before the name of an API's host.
    """

    def __init__(self, project: str, credentials: Any = None, root: str = "https://") -> None:
        self.project = project
        self._credentials, self._root = credentials, root
        self._answers: dict[str, Json | GoogleError] = {}

    def get(self, permission: str, path: str, **query: Any) -> Json:
        """One GET, such as ``get("compute.zones.get", "projects/p/zones/z")``; the permission's first word is the API.

        Raises GoogleError for an answer that is an error, SpecError where no answer can be had at all.
        """
        api = permission.partition(".")[0]
        url = f"{self._root}{api}.googleapis.com/{_VERSIONS.get(api, 'v1')}/{quote(path, safe='/:')}"
        key = f"{url} {sorted(query.items())}"
        if key not in self._answers:
            self._answers[key] = self._asked(url, query, permission)
        found = self._answers[key]
        if isinstance(found, GoogleError):
            raise found
        return found

    def find(self, permission: str, path: str, **query: Any) -> Json | None:
        """As :meth:`get`; None where there is no such thing."""
        try:
            return self.get(permission, path, **query)
        except GoogleError as error:
            if error.status == 404 and error.code not in _OFF:
                return None
            raise

    def pages(self, permission: str, path: str, **query: Any) -> Iterator[Json]:
        """All pages of a list."""
        token: dict[str, str] = {}
        while True:
            page = self.get(permission, path, **query, **token)
            yield page
            if not page.get("nextPageToken"):
                return
            token = {"pageToken": str(page["nextPageToken"])}

    def _asked(self, url: str, query: Mapping[str, Any], permission: str) -> Json | GoogleError:
        requests, auth = self._requests, self._auth
        try:
            response = self._session.get(url, params=query, timeout=_TIMEOUT_S)
        except (requests.exceptions.RequestException, auth.exceptions.TransportError) as error:
            reason = f"Google does not answer: {_first_line(error)}"
            raise SpecError([Problem("", reason, _LOOK_AT_NETWORK)]) from None
        except auth.exceptions.GoogleAuthError as error:
            raise SpecError([Problem("", f"Google does not take these credentials: {_first_line(error)}", _LOG_IN)]) from None
        try:
            body = response.json()
        except ValueError:
            body = None
        if response.status_code == 401:
            raise SpecError([Problem("", "Google does not take these credentials (401)", _LOG_IN)])
        if not isinstance(body, Mapping):
            reason = f"what answers for {url.split('/')[2]} is not Google: no JSON, status {response.status_code}"
            raise SpecError([Problem("", reason, _LOOK_AT_NETWORK)])
        if response.status_code != 200:
            return GoogleError(response.status_code, body, permission, self.project)
        return body

    @cached_property
    def _session(self) -> Any:
        from google.auth.transport.requests import AuthorizedSession
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        session = AuthorizedSession(self._credentials or self._default())  # type: ignore[no-untyped-call]
        patient = Retry(total=_TRIES, backoff_factor=0.2, status_forcelist=_PASSING, raise_on_status=False)
        for scheme in ("https://", "http://"):
            session.mount(scheme, HTTPAdapter(max_retries=patient))
        return session

    def _default(self) -> Any:
        """Credentials of this machine. A user's own need a project that Google counts the questions for."""
        import warnings

        with warnings.catch_warnings():  # google-auth warns of a user's credentials without such a project
            warnings.simplefilter("ignore")
            try:
                found, _ = self._auth.default(scopes=[_SCOPE])
            except self._auth.exceptions.DefaultCredentialsError as error:
                reason = f"no credentials of Google Cloud were found: {_first_line(error)}"
                raise SpecError([Problem("", reason, _LOG_IN)]) from None
        from google.oauth2.credentials import Credentials

        if isinstance(found, Credentials) and not found.quota_project_id:
            return found.with_quota_project(self.project)
        return found

    @cached_property
    def _auth(self) -> Any:
        try:
            import google.auth
            import google.auth.exceptions
        except ImportError:
            raise SpecError([_NO_CLIENT]) from None
        return google.auth

    @cached_property
    def _requests(self) -> Any:
        try:
            import requests
        except ImportError:
            raise SpecError([_NO_CLIENT]) from None
        return requests


def last(url: str) -> str:
    """The name at the end of a thing's URL or path."""
    return url.rpartition("/")[2]


def _code(told: Json) -> str:
    """The most exact of Google's words: newer APIs have it in ``details``, older ones in ``errors``."""
    details = [each for each in told.get("details") or () if isinstance(each, Mapping) and each.get("reason")]
    errors = [each for each in told.get("errors") or () if isinstance(each, Mapping) and each.get("reason")]
    return str(next(iter([*details, *errors]), {"reason": told.get("status", "")})["reason"])


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
