"""Say where each role is kept and why, and how fast it is on each group's nodes."""

from collections.abc import Iterable, Iterator

from gpufabric.plan.explain import Line
from gpufabric.plan.storage.model import BUCKET, FILESYSTEM, MOUNT_CACHED, OnGroup, RolePlan

_NOUNS = {BUCKET: "bucket", FILESYSTEM: "file system"}


def role_lines(roles: Iterable[RolePlan]) -> Iterator[Line]:
    """One line for each role of a stack."""
    for plan in roles:
        where = f"{_NOUNS[plan.choice.kind]} {plan.name}" if plan.name else "local NVMe"
        by = f" by {plan.choice.driver}" if plan.choice.driver else ""
        how = f", {plan.choice.mode}{by}" if plan.choice.mode else ""
        kept = "durable" if plan.choice.backend.durable else "lost with its node"
        usd = plan.usd_per_month
        cost = f"{'not known' if usd is None else f'{usd:.2f} US dollars'} ({plan.cost_why})"
        yield Line(plan.role, f"{where} as {plan.path}{how}; {kept}; cost per month: {cost}", plan.choice.why)


def speed_lines(roles: Iterable[RolePlan], group: str) -> Iterator[Line]:
    """What the roles are on the nodes of a group."""
    for plan in roles:
        found = plan.on(group)
        cache = f"; {_cache(found)}" if plan.choice.mode == MOUNT_CACHED else _read_cache(found)
        yield Line(f"{plan.role}, per node", f"{_rates(found)}{cache}", found.source)


def _rates(found: OnGroup) -> str:
    rates = {"reads": found.read_gbytes_per_s, "writes": found.write_gbytes_per_s}
    known = [f"{what} {rate:.3g} GB/s{_per_gpu(rate, found)}" for what, rate in rates.items() if rate is not None]
    return ", ".join(known) or "rates not known"


def _per_gpu(rate: float, found: OnGroup) -> str:
    return f" ({rate / found.gpus:.2g} per GPU)" if found.gpus else ""


def _cache(found: OnGroup) -> str:
    args = found.mount_args
    size = f"cache of {args['cache_gib']} GiB in {args['cache_path']}"
    if found.largest_checkpoint_gib is None:
        return size
    drained = f"an ending pod waits {args['drain_seconds']} s for uploads"
    return f"{size}, {drained}: good for checkpoints of {found.largest_checkpoint_gib} GiB per node"


def _read_cache(found: OnGroup) -> str:
    """Of a CSI driver, where it was asked for."""
    size = found.mount_args.get("cache_gib")
    return f"; what was read is kept, up to {size} GiB for each pod" if size else ""
