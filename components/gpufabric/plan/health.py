"""What stage 0 of the gate holds each node against: wish and tables as the ``health`` section of the contract."""

from collections.abc import Mapping

from gpufabric.hardware.health import dcgm_levels, find_hcas, find_nvlinks, health_checks, xids
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.profile import PodFabric
from gpufabric.spec import Problem, dotted
from gpufabric.validation import contract
from gpufabric.validation.health_wish import Health, Rule, Xid

XID = "xid-"
HUGE_PAGES = "hugepages-2Mi"


def health_problems(severities: Mapping[str, str], path: str) -> list[Problem]:
    """Severities for what is no check, and checks that would be left out."""
    problems = []
    for key, severity in severities.items():
        where, code = dotted(path, [key]), key.removeprefix(XID)
        if key != code and code.isascii() and code.isdecimal():
            continue
        if key not in health_checks():
            from difflib import get_close_matches  # only for an error: it costs as much as the rest of this room

            near = get_close_matches(key, health_checks(), n=1)
            fix = f"did you mean {near[0]}?" if near else f"write xid-CODE or one of {', '.join(health_checks())}"
            problems.append(Problem(where, "no check of stage 0 has this name", fix))
        elif severity == "ignore":
            problems.append(Problem(where, "a check is never left out: nobody would know of the sick node", "write warning"))
    return problems


def plan_health(
    accelerators: GroupAccelerators,
    fabric: GroupFabric,
    profile: PodFabric,
    severities: Mapping[str, str],
    dcgm_level: int,
) -> Health:
    """The section. Only what the wish needs: nodes without GPUs are held to no GPU rule. ``severities``: the user's own."""
    name, count = accelerators.accelerator.name, accelerators.count
    checks = health_checks()
    links = find_nvlinks(name) if count > 1 else None  # a lone GPU has nobody to link to
    hcas = find_hcas(fabric=fabric.name, accelerator=name, per_node=count) if fabric.rdma else None
    wish = Health(
        interface=fabric.interface,
        gpus=count,
        nvlinks_per_gpu=links.links_per_gpu if links else 0,
        hcas=fabric.devices,
        hcas_per_node=fabric.devices_per_node or (hcas.hcas_per_node if hcas else 0),
        hca_gbits_per_s=hcas.rate_gbits_per_s if hcas else 0,
        shm_mib=checks["shm"].least_mib if profile.shared_memory else 0,
        hugepages_mib=_mebibytes(profile.resources.get(HUGE_PAGES, "0Mi")),
        ecc_most_errors=checks["ecc"].most_errors if count else 0,
        xid_window_s=checks["xid"].window_s if count else 0,
        xids=_xids(severities) if count else {},
        dcgm_level=dcgm_level if count else 1,
        dcgm_more_s=dcgm_levels()[dcgm_level].more_s if count else 0,
    )
    rules = {each: Rule(severities.get(each, checks[each].severity), checks[each].fix) for each in wish.wanted}
    return Health(**{**wish.__dict__, "rules": rules})


def dcgm_environment(wish: Health) -> dict[str, str]:
    """What health.sh is told of the level; nothing where it is the first."""
    if not wish.dcgm_more_s:
        return {}
    return {contract.ENV_DCGM_LEVEL: str(wish.dcgm_level), contract.ENV_DCGM_SECONDS: str(wish.dcgm_more_s)}


def _mebibytes(quantity: int | str) -> int:
    """``5120Mi`` as 5120: the tables write huge pages so."""
    return int(str(quantity).removesuffix("Mi"))


def _xids(severities: Mapping[str, str]) -> dict[str, Xid]:
    found = {str(code): Xid(row.severity, row.action) for code, row in sorted(xids().items())}
    for key, severity in severities.items():
        if key.startswith(XID):
            code = str(int(key.removeprefix(XID)))
            found[code] = Xid(severity, found[code].action if code in found else "severity given in the spec")
    return found
