"""How the machines of a node pool are had: kind, window, placement. Every check across the keys of ``capacity``."""

from datetime import datetime

from gpufabric.hardware import GcpMachine, gke_limits
from gpufabric.plan.capacity import phase_of, stray_keys, window_problems
from gpufabric.plan.cloud_model import Phase
from gpufabric.plan.gcp.model import GkeCapacityPlan, ReservationAffinity
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.gcp import GcpCapacitySpec

_RESERVED_KEYS = ("id", "block", "placement_policy", "starts_at", "ends_at")
FROM_ZERO = ("flex_start", "queued")
"""Kinds whose nodes come when a job asks for them."""
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"
_ONE_RULE = "GKE takes blocks of the project's own reservations alone"


def plan_capacity(
    wish: GcpCapacitySpec, machine: GcpMachine, nodes: int, project: str, *, fabric: bool, now: datetime, path: str
) -> GkeCapacityPlan:
    """The capacity of one node pool; raises :class:`SpecError`. ``now`` is in UTC."""
    compact = nodes > 1 and fabric and (wish.kind == "on_demand" or (wish.kind == "flex_start" and machine.flex_compact))
    problems = _problems(wish, project, path)
    most = gke_limits().most_compact_nodes
    if compact and nodes > most:
        reason = f"{nodes} nodes; GKE places at most {most} of a node pool close together"
        at = f"{path.rpartition('.')[0]}.nodes"
        problems.append(Problem(at, reason, f"write at most {most}, and more groups", str(gke_limits().provenance)))
    if problems:
        raise SpecError(problems)
    phase, from_zero = phase_of(wish, now), wish.kind in FROM_ZERO
    return GkeCapacityPlan(
        kind=wish.kind,
        phase=phase,
        reservation_id=_reservation(wish, project) if wish.id else None,
        desired_nodes=nodes if phase is Phase.OPEN and not from_zero else 0,
        reserved=wish.kind == "reservation",
        may_lack_nodes=wish.kind == "spot" or from_zero or phase is not Phase.OPEN,
        spot=wish.kind == "spot",
        flex_start=wish.kind == "flex_start",
        queued=wish.kind == "queued",
        from_zero=from_zero,
        max_run_s=wish.max_run_seconds,
        affinity=_affinity(wish, project),
        # A reservation is dense already, or has the policy that it was made with; spot finds few places with one.
        compact=compact or wish.placement_policy is not None,
        placement_policy=wish.placement_policy,
    )


def _affinity(wish: GcpCapacitySpec, project: str) -> ReservationAffinity | None:
    if wish.kind == "on_demand":
        return None
    if wish.kind != "reservation":  # GKE refuses a queued pool whose affinity is not said (terraform-provider-google 18341)
        return ReservationAffinity("NO_RESERVATION")
    found = _reservation(wish, project) + (f"/reservationBlocks/{wish.block}" if wish.block else "")
    return ReservationAffinity("SPECIFIC_RESERVATION", _RESERVATION_KEY, (found,))


def _reservation(wish: GcpCapacitySpec, project: str) -> str:
    """The path of the reservation: a bare name is the project's own."""
    name = wish.id or ""
    return name if "/" in name else f"projects/{project}/reservations/{name}"


def _problems(wish: GcpCapacitySpec, project: str, path: str) -> list[Problem]:
    problems = []
    if wish.kind != "reservation":
        problems += stray_keys(wish, wish.kind, _RESERVED_KEYS, ("reservation",), path)
    elif wish.id is None:
        fix = "write its name, or projects/PROJECT/reservations/NAME"
        problems.append(Problem(f"{path}.id", "missing: kind: reservation is one that exists", fix))
    elif wish.block and not _reservation(wish, project).startswith(f"projects/{project}/"):
        reason = f"{wish.id} is shared by another project"
        problems.append(Problem(f"{path}.block", reason, "leave it out", _ONE_RULE))
    if wish.kind not in FROM_ZERO:
        problems += stray_keys(wish, wish.kind, ("max_run_seconds",), FROM_ZERO, path)
    return [*problems, *window_problems(wish, path)]
