"""Whether buckets and file systems that exist are there and fit, and the names of new buckets are free."""

from collections.abc import Iterator

from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.bucket import GcsBucketPlan
from gpufabric.plan.gcp.filesystem import FilesystemPlan, ManagedLustrePlan
from gpufabric.preflight.gcp_client import Google, GoogleError, Json, last
from gpufabric.preflight.gcp_network import network_path
from gpufabric.spec import Problem

_READY = ("ACTIVE", "READY")


def bucket(google: Google, store: GcsBucketPlan, key: str, *, in_use: bool) -> Iterator[Problem]:
    """A bucket that is not there, is another's, or takes no identities of pods. ``in_use``: the stack may have made it."""
    at = f"stores.{key}.name"
    try:
        found = google.find("storage.buckets.get", f"b/{store.bucket}")
    except GoogleError as error:
        if error.status != 403 or store.existing:
            raise
        yield Problem(at, f"{store.bucket} is taken: it is another project's bucket, or closed to you", "choose another name")
        return
    if found is None:
        if store.existing:
            yield Problem(at, f"there is no bucket {store.bucket}", "check the name, or leave existing out")
        return
    if not store.existing:
        if not in_use:
            reason = f"{store.bucket} is there already: buckets stay when a stack is destroyed"
            yield Problem(at, reason, "write existing: true, or choose another name; if this stack made it, all is well")
        return
    access = found.get("iamConfiguration", {}).get("uniformBucketLevelAccess", {})
    if not access.get("enabled"):
        reason = f"{store.bucket} has no uniform access: pods by workload identity fail to write to it (412)"
        fix = f"gcloud storage buckets update gs://{store.bucket} --uniform-bucket-level-access"
        yield Problem(at, reason, fix, "Cloud Storage FUSE CSI driver, troubleshooting")


def file_system(google: Google, plan: GcpStackPlan, made: FilesystemPlan, key: str) -> Iterator[Problem]:
    """A file system that exists: there, ready, in the nodes' network."""
    lustre, at = isinstance(made, ManagedLustrePlan), f"filesystems.{key}.existing"
    kind = "Managed Lustre" if lustre else "Filestore"
    found = google.find("lustre.instances.get" if lustre else "file.instances.get", made.path)
    if found is None:
        yield Problem(at, f"{kind} knows no {made.existing} in {made.location}", "check its name, and that it is in the zone")
        return
    if found.get("state") not in _READY:
        yield Problem(at, f"{made.existing} is {found.get('state')}", f"wait until it is {_READY[0 if lustre else 1]}")
    existing = plan.parts.network.existing
    has = _networks(found)
    if existing and has and last(network_path(google.project, existing.network)) not in has:
        reason = f"{made.existing} is in {', '.join(sorted(has))}, the nodes in {existing.network}"
        yield Problem(at, reason, "name one of the same network")


def _networks(found: Json) -> set[str]:
    """Names of the networks: Lustre has one, Filestore a list."""
    return {last(str(each)) for each in [found.get("network"), *(n.get("network") for n in found.get("networks", ()))] if each}
