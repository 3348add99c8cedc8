"""Whether the project can be reached, and has the APIs of a plan switched on."""

from collections.abc import Iterator

from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.filesystem import ManagedLustrePlan
from gpufabric.preflight.gcp_client import Google, GoogleError, last
from gpufabric.spec import Problem

_ALWAYS = ("cloudresourcemanager", "compute", "container", "iam")


def project(google: Google) -> Iterator[Problem]:
    """A project that is not there, or that these credentials may not see: Google tells neither apart."""
    try:
        google.get("compute.projects.get", f"projects/{google.project}")
    except GoogleError as error:
        if error.status != 404:
            raise
        yield Problem("project", f"Google knows no project {google.project}", "check its id, and who is logged in")


def apis(google: Google, plan: GcpStackPlan) -> Iterator[Problem]:
    """APIs that are off."""
    parent = f"projects/{google.project}"
    names = [f"{parent}/services/{api}.googleapis.com" for api in apis_of(plan)]
    found = google.get("serviceusage.services.get", f"{parent}/services:batchGet", names=names)
    on = {last(str(each["name"])) for each in found.get("services", ()) if each.get("state") == "ENABLED"}
    for api in (f"{each}.googleapis.com" for each in apis_of(plan)):
        if api not in on:
            fix = f"gcloud services enable {api} --project {google.project}"
            yield Problem("project", f"{api} is off in {google.project}", fix)


def apis_of(plan: GcpStackPlan) -> tuple[str, ...]:
    """The first words of the hosts that the provider calls for this plan."""
    needed = {*_ALWAYS, *("lustre" if isinstance(each, ManagedLustrePlan) else "file" for each in _filesystems(plan))}
    if plan.parts.stores:
        needed.add("storage")
    if plan.parts.network.host and plan.parts.network.host.services_peer:
        needed.add("servicenetworking")
    return tuple(sorted(needed))


def _filesystems(plan: GcpStackPlan) -> Iterator[object]:
    yield from plan.parts.filesystems.values()
