"""From the wish to the plan of every role; all problems are found together."""

from collections.abc import Mapping

from gpufabric.hardware.bucket_drivers import GCSFUSE
from gpufabric.plan.mounts.csi import NAMESPACE
from gpufabric.plan.storage.cache import cache_problems
from gpufabric.plan.storage.choose import choose
from gpufabric.plan.storage.model import (
    BUCKET,
    CHECKPOINT,
    FILESYSTEM,
    MODEL,
    MOUNT_CACHED,
    NVME,
    ROLES,
    Choice,
    RolePlan,
    Shelf,
)
from gpufabric.plan.storage.mount import MountMaker, path_of
from gpufabric.plan.storage.speed import monthly_cost, on_group
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.cloud.roles import RoleSpec, StorageSpec


def plan_storage(spec: StorageSpec | None, has: Shelf, *, image: str, stack: str) -> tuple[RolePlan, ...]:
    """The plan of each role that is asked for; raises :class:`SpecError`. ``image``: of the agents beside the mounts."""
    wishes = {role: wish for role in ROLES if (wish := getattr(spec, role, None)) is not None}
    problems: list[Problem] = []
    chosen: dict[str, Choice] = {}
    for role in (MODEL, *(each for each in ROLES if each != MODEL)):  # checkpoints follow the model
        if role not in wishes:
            continue
        found = choose(role, wishes[role], has, chosen.get(MODEL))
        if isinstance(found, Problem):
            problems.append(found.below(f"storage.{role}"))
        else:
            chosen[role] = found
    problems += [each.below("storage") for each in (*_between(chosen, wishes), *_unused(chosen, wishes, has))]
    cached = {role: wishes[role] for role in ROLES if role in chosen and _caches(chosen[role], wishes[role])}
    problems += [each.below("storage") for each in cache_problems(cached, has.groups)]
    if spec and "service_account" in spec.model_fields_set and not any(each.driver == GCSFUSE for each in chosen.values()):
        reason = f"no role is read by {GCSFUSE}, which alone reads as the job"
        problems.append(Problem("storage.service_account", reason, "leave it out"))
    if problems:
        raise SpecError(problems)
    maker = MountMaker(has, cached, image, stack)
    account = spec.service_account if spec else ""
    return tuple(_role(role, chosen[role], wishes[role], maker, account) for role in ROLES if role in chosen)


def _caches(choice: Choice, wish: RoleSpec) -> bool:
    """Whether it has its part of the nodes' disks: a CSI driver only where it was asked for."""
    return choice.mode == MOUNT_CACHED or (choice.by_csi and wish.cache_gib is not None)


def _between(chosen: Mapping[str, Choice], wishes: Mapping[str, RoleSpec]) -> list[Problem]:
    """Checkpoints beside the models, and folders within folders."""
    problems = []
    model, checkpoint = chosen.get(MODEL), chosen.get(CHECKPOINT)
    if model and checkpoint and model.place != checkpoint.place:
        reason = f"checkpoints on {_place(checkpoint)}, models on {_place(model)}: a run resumes where models are loaded from"
        problems.append(Problem(f"{CHECKPOINT}.kind", reason, f"write kind: auto, or keep both on {_place(model)}"))
    paths = {role: path_of(role, wish) for role, wish in wishes.items()}
    for role, path in paths.items():
        for other, above in paths.items():
            if role != other and (path.startswith(f"{above}/") or (path == above and role > other)):
                reason = f"{path} lies in {above} of {other}: a mount hides what is below it"
                problems.append(Problem(f"{role}.path", reason, "write folders beside each other"))
    return problems


def _place(choice: Choice) -> str:
    return f"{choice.kind} {choice.key}".strip()


def _unused(chosen: Mapping[str, Choice], wishes: Mapping[str, RoleSpec], has: Shelf) -> list[Problem]:
    """Keys that mean nothing where a role is kept, and what does not fit there."""
    problems = []
    for role, choice in chosen.items():
        wish = wishes[role]
        where = f"{_place(choice)} through {choice.mode}" if choice.mode else _place(choice)
        if not _caches(choice, wish):
            for key in ("cache_gib", "upload_mbytes_per_s", "drain_seconds"):
                if getattr(wish, key, None) is not None:
                    problems.append(Problem(f"{role}.{key}", f"{where} has no cache", "leave it out"))
        if wish.driver is not None and not choice.driver:
            problems.append(Problem(f"{role}.driver", f"{where} has no choice of drivers", "leave it out"))
        room = has.filesystems[choice.key].size_gib if choice.kind == FILESYSTEM else None
        if choice.kind == NVME:
            room = min((each.nvme_gib for each in has.groups), default=None)
        if room is not None and wish.size_gib is not None and wish.size_gib > room:
            problems.append(
                Problem(f"{role}.size_gib", f"{wish.size_gib} GiB; {_place(choice)} holds {room}", "make it larger")
            )
    return problems


def _role(role: str, choice: Choice, wish: RoleSpec, maker: MountMaker, account: str) -> RolePlan:
    has = maker.has
    usd, why = monthly_cost(choice, wish.size_gib, has)
    groups = [on_group(choice, nodes, has) for nodes in has.groups]
    if choice.kind == BUCKET:
        groups = [maker.mounted(role, choice, wish, nodes, found) for nodes, found in zip(has.groups, groups, strict=True)]
    name = str(has.buckets[choice.key]["name"]) if choice.kind == BUCKET else choice.key
    return RolePlan(
        role=role,
        choice=choice,
        name=name,
        path=path_of(role, wish),
        usd_per_month=usd,
        cost_why=why,
        reader={"namespace": NAMESPACE, "name": account} if choice.driver == GCSFUSE else {},
        groups=tuple(groups),
    )
