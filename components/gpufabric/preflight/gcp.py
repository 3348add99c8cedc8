"""What a plan for Google Cloud needs to find there, read-only: APIs, machines, quotas, reservations, networks, the cluster."""

from functools import partial

from gpufabric.plan.capacity import sharing
from gpufabric.plan.gcp import GcpStackPlan
from gpufabric.plan.gcp.cluster import ExistingGkePlan
from gpufabric.preflight import (
    gcp_cluster,
    gcp_machines,
    gcp_network,
    gcp_project,
    gcp_quotas,
    gcp_reservations,
    gcp_storage,
)
from gpufabric.preflight.gcp_client import Google
from gpufabric.preflight.questions import Questions, on_path


def preflight_gcp(plan: GcpStackPlan, google: Google | None = None) -> None:
    """Raise :class:`SpecError` with everything in the project that would stop this plan. Changes nothing.

    ``google``: who is asked; default the project with the credentials of this machine. What may not be asked is said and
    counted, and the rest still is asked.
    """
    google = google or Google(plan.project)
    questions = Questions()
    fix = "install it (gcloud components install gke-gcloud-auth-plugin)"
    questions.ask("programs", lambda: on_path("gke-gcloud-auth-plugin", fix))
    questions.ask("the project", lambda: gcp_project.project(google))
    questions.ask("its APIs", lambda: gcp_project.apis(google, plan))
    name = plan.parts.cluster.name
    found = questions.value(f"whether the cluster {name} is there", lambda: gcp_cluster.find_cluster(google, plan))
    running = gcp_cluster.running(plan, found)
    made_before = bool(running) or (found is not None and not isinstance(plan.parts.cluster, ExistingGkePlan))
    _machines(questions, google, plan)
    _quotas(questions, google, plan, running=running, made_before=made_before)
    _reservations(questions, google, plan, running=running)
    _networks(questions, google, plan, in_use=bool(running))
    if isinstance(plan.parts.cluster, ExistingGkePlan):
        questions.ask(f"the cluster {name}", partial(gcp_cluster.existing, google, plan, plan.parts.cluster))
    elif not made_before:
        questions.ask("GKE's versions", partial(gcp_cluster.version, google, plan, plan.parts.cluster))
    for key, store in plan.parts.stores.items():
        questions.ask(f"the bucket {store.bucket}", partial(gcp_storage.bucket, google, store, key, in_use=made_before))
    for key, each in plan.parts.filesystems.items():
        if each.existing:
            questions.ask(f"the file system {each.existing}", partial(gcp_storage.file_system, google, plan, each, key))
    questions.report()


def _machines(questions: Questions, google: Google, plan: GcpStackPlan) -> None:
    questions.ask(f"the zone {plan.zone}", lambda: gcp_machines.zone(google, plan))
    for row in {group.machine.name: group.machine for group in plan.node_groups}.values():
        questions.ask(f"the machine {row.name}", partial(gcp_machines.machine, google, plan, row))
    for profile in dict.fromkeys(vpc.profile for vpc in plan.parts.network.vpcs if vpc.profile):
        questions.ask("the network profile", partial(gcp_machines.network_profile, google, plan, profile))


def _quotas(questions: Questions, google: Google, plan: GcpStackPlan, *, running: frozenset[str], made_before: bool) -> None:
    """What the stack holds already is in Google's figures of use: they are left out where it is there in part."""
    in_use = bool(running)
    for (quota, family), wanted in gcp_quotas.gpu_demand(plan).items():
        about = f"the quota {quota}{f' of {family}' if family else ''}"
        questions.ask(about, partial(gcp_quotas.gpus, google, plan, quota, family, wanted))
    questions.ask("the quota of all GPUs", lambda: gcp_quotas.all_gpus(google, plan, in_use=in_use))
    questions.ask("the quotas of disks", lambda: gcp_quotas.disks(google, plan, in_use=in_use))
    questions.ask("the quota of vCPUs", lambda: gcp_quotas.system_cpus(google, plan, in_use=made_before))
    questions.ask("the quotas of networks", lambda: gcp_quotas.networks(google, plan, in_use=made_before))


def _reservations(questions: Questions, google: Google, plan: GcpStackPlan, *, running: frozenset[str]) -> None:
    for position, group in enumerate(plan.node_groups):
        if group.capacity.reservation_id:
            about, in_use = f"the reservation of {group.name}", group.name in running
            path = f"node_groups[{position}]"
            questions.ask(about, partial(gcp_reservations.reservation, google, plan, group, path, in_use=in_use))
    for groups in sharing(plan.node_groups).values():
        if len(groups) > 1:
            about = f"the reservation of {' and '.join(group.name for group in groups)}"
            questions.ask(about, partial(gcp_reservations.together, google, plan, groups))


def _networks(questions: Questions, google: Google, plan: GcpStackPlan, *, in_use: bool) -> None:
    existing = plan.parts.network.existing
    if existing is None:
        return
    questions.ask(f"the network {existing.network}", partial(gcp_network.host, google, plan, existing, in_use=in_use))
    machines = {group.machine.name: group.machine for group in plan.node_groups}
    for name, networks in existing.gpu_networks.items():
        asked = partial(gcp_network.gpu_networks, google, plan, machines[name], networks, in_use=in_use)
        questions.ask(f"the networks of {name}", asked)
