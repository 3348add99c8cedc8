"""What the mounts of roles need to find in a cluster of one's own: their namespaces, and the keys of their buckets."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufabric.plan import StackPlan
from gpufabric.plan.mounts.rclone import secret_keys
from gpufabric.preflight.namespaces import namespace_problems
from gpufabric.spec import Problem
from gpufabric.validation.api import Api, ApiError, path


def bucket_problems(api: Api, plan: StackPlan) -> Iterator[Problem]:
    """A mount without its Secret would wait for ever, and with it every job; raises ApiError."""
    for store, args in _stores(plan).items():
        namespace, secret = args.get("namespace"), args.get("credentials_secret")
        if namespace is None:
            continue  # the mount's own, made with it
        if missing := [*namespace_problems(api, [namespace], f"stores.{store}.namespace")]:
            yield from missing
        elif secret:
            yield from _secret(api, namespace, secret, args["bucket"]["kind"], f"stores.{store}.credentials_secret")


def _stores(plan: StackPlan) -> dict[str, Mapping[str, Any]]:
    """What the first mount of each store is told."""
    found: dict[str, Mapping[str, Any]] = {}
    for role in plan.storage:
        for group in role.groups:
            if group.mount:
                found.setdefault(role.choice.key, group.mount_args)
    return found


def _secret(api: Api, namespace: str, name: str, kind: str, at: str) -> Iterator[Problem]:
    wanted = secret_keys(kind)
    try:
        found = api.find(path("secrets", name, namespace=namespace))
    except ApiError as error:
        if error.missing_permission:
            return  # who may make mounts need not be allowed to read keys
        raise
    lacking = [key for key in wanted if key not in (found or {}).get("data", {})]
    if found is None:
        yield Problem(at, f"there is no Secret {name} in {namespace}", f"make it first, with {' and '.join(wanted)}")
    elif lacking:
        yield Problem(at, f"the Secret {name} in {namespace} lacks {' and '.join(lacking)}", "write these keys into it")
