"""What stage 0 of the gate holds each node against: wish and tables as the ``health`` section of the contract."""

from gpufabric.hardware.health import find_hcas, find_nvlinks, health_checks, xids
from gpufabric.plan.fabric import GroupAccelerators, GroupFabric
from gpufabric.plan.profile import PodFabric
from gpufabric.validation.health_wish import Health, Rule, Xid


def plan_health(accelerators: GroupAccelerators, fabric: GroupFabric, profile: PodFabric) -> Health:
    """The section. Only what the wish needs: nodes without GPUs are held to no GPU rule."""
    name, count = accelerators.accelerator.name, accelerators.count
    checks = health_checks()
    links = find_nvlinks(name) if count else None
    hcas = find_hcas(fabric=fabric.name, accelerator=name, per_node=count) if fabric.rdma else None
    wish = Health(
        interface=fabric.interface,
        gpus=count,
        nvlinks_per_gpu=links.links_per_gpu if links else 0,
        hcas=fabric.hcas,
        hcas_per_node=hcas.hcas_per_node if hcas else 0,
        hca_gbits_per_s=hcas.rate_gbits_per_s if hcas else 0,
        shm_mib=checks["shm"].least_mib if profile.shared_memory else 0,
        ecc_most_errors=checks["ecc"].most_errors if count else 0,
        xid_window_s=checks["xid"].window_s if count else 0,
        xids={str(code): Xid(row.severity, row.action) for code, row in sorted(xids().items())} if count else {},
    )
    rules = {each: Rule(checks[each].severity, checks[each].fix) for each in wish.wanted}
    return Health(**{**wish.__dict__, "rules": rules})
