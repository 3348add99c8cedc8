"""What the plans of storage on every cloud share."""

from collections.abc import Iterable, Mapping, Sequence

from gpufabric.spec import Problem
from gpufabric.spec.cloud.storage import ServiceAccountRef


def account_problems(accounts: Sequence[ServiceAccountRef]) -> list[Problem]:
    """Service accounts that are listed twice."""
    names = [(account.namespace, account.name) for account in accounts]
    twice = sorted({pair for pair in names if names.count(pair) > 1})
    return [Problem("service_accounts", f"{space}/{name} is listed twice", "write it once") for space, name in twice]


def same_bucket_problems(names: Mapping[str, str]) -> list[Problem]:
    """Buckets that several keys of ``stores`` name. ``names``: of the buckets, by key."""
    twice = sorted({name for name in names.values() if list(names.values()).count(name) > 1})
    found = ((name, " and ".join(key for key, each in names.items() if each == name)) for name in twice)
    return [Problem("stores", f"{keys} name the same bucket {name}", "name a bucket once") for name, keys in found]


def exists_problems(decided: Iterable[str], reason: str) -> list[Problem]:
    """Keys that shape a thing which is there already."""
    return [Problem(key, reason, "leave it out") for key in sorted(decided)]
