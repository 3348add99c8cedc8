"""How the machines of a group are had: kind, window, placement. Every check across the keys of ``capacity``."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpufabric.hardware import AwsMachine, capacity_block_rules
from gpufabric.plan.aws.model import AwsCapacityPlan, EksNodeGroupPlan, ScaleUp
from gpufabric.plan.capacity import phase_of, sharing, sharing_problems, stray_keys, window_problems
from gpufabric.plan.cloud_model import Phase
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import AwsCapacitySpec
from gpufabric.spec.cloud import instant

_RESERVED = ("reservation", "capacity_block")
_TYPES = {"on_demand": "ON_DEMAND", "reservation": "ON_DEMAND", "spot": "SPOT", "capacity_block": "CAPACITY_BLOCK"}
_BLOCK_MARKET = "capacity-block"


def plan_capacity(
    wish: AwsCapacitySpec, machine: AwsMachine, nodes: int, *, fabric: bool, now: datetime, path: str
) -> AwsCapacityPlan:
    """The capacity of one group; raises :class:`SpecError`. ``now`` is in UTC."""
    if problems := _problems(wish, machine, nodes, path):
        raise SpecError(problems)
    early = capacity_block_rules().closes_before_end_s if wish.kind == "capacity_block" else 0
    phase = phase_of(wish, now, closes_early_s=early)
    scale_up = ScaleUp(instant(wish.starts_at), nodes) if phase is Phase.BEFORE and wish.starts_at else None
    return AwsCapacityPlan(
        kind=wish.kind,
        phase=phase,
        capacity_type=_TYPES[wish.kind],
        market_type=_BLOCK_MARKET if wish.kind == "capacity_block" else "",
        reservation_id=wish.id,
        # A block is placed together already; a reservation keeps the group that it was made in, or has none: another one
        # finds no capacity. With spot a group leaves few places.
        own_placement_group=wish.kind == "on_demand" and fabric and nodes > 1 and wish.placement_group is None,
        placement_group=wish.placement_group,
        desired_nodes=nodes if phase is Phase.OPEN else 0,
        scale_up=scale_up,
        reserved=wish.kind in _RESERVED,
        may_lack_nodes=wish.kind == "spot" or phase is not Phase.OPEN,
    )


def shared_problems(groups: Sequence[EksNodeGroupPlan]) -> Iterator[Problem]:
    """What groups ask of one reservation or block together: it holds one type of machine, a block no more than AWS sells."""
    yield from sharing_problems(groups)
    rules = capacity_block_rules()
    for found, together in sharing(groups).items():
        total = sum(group.nodes for group in together)
        if len(together) > 1 and together[0].capacity.kind == "capacity_block" and total > rules.most_nodes:
            names = " and ".join(group.name for group in together)
            reason = f"{names} ask {found} for {total} nodes; a capacity block holds at most {rules.most_nodes}"
            yield Problem("node_groups", reason, "ask for fewer, or name a block for each group", str(rules.provenance))


def _problems(wish: AwsCapacitySpec, machine: AwsMachine, nodes: int, path: str) -> list[Problem]:
    problems = []
    if machine.capacity_kinds and wish.kind not in machine.capacity_kinds:
        fix = f"write {' or '.join(machine.capacity_kinds)}"
        problems.append(Problem(f"{path}.kind", f"{machine.name} cannot be had as {wish.kind}", fix, str(machine.provenance)))
    if wish.kind in _RESERVED:
        problems += _reserved_problems(wish, nodes, path)
    else:
        problems += stray_keys(wish, wish.kind, ("id", "starts_at", "ends_at", "lookup"), _RESERVED, path)
    return [*problems, *window_problems(wish, path)]


def _reserved_problems(wish: AwsCapacitySpec, nodes: int, path: str) -> list[Problem]:
    problems = []
    if wish.id is None:
        problems.append(Problem(f"{path}.id", f"missing: kind: {wish.kind} is one that exists", "write its id, cr-..."))
    if wish.kind != "capacity_block":
        if wish.lookup:
            reason = "Pulumi's AWS SDK describes capacity blocks alone"
            problems.append(Problem(f"{path}.lookup", reason, "leave it out; gpufabric preflight looks at reservations"))
        return problems
    rules = capacity_block_rules()
    if nodes > rules.most_nodes:
        fix = f"write at most {rules.most_nodes} nodes, and a group for each block"
        reason = f"{nodes} nodes; a capacity block holds at most {rules.most_nodes}"
        problems.append(Problem(f"{path.rpartition('.')[0]}.nodes", reason, fix, str(rules.provenance)))
    if wish.placement_group:
        reason, rule = "a capacity block takes no placement group: it is placed together already", "AWS EC2, 2026-07"
        problems.append(Problem(f"{path}.placement_group", reason, "leave it out", rule))
    if not wish.lookup:
        for key in ("starts_at", "ends_at"):
            if getattr(wish, key) is None:
                fix = "write the block's time in UTC, or lookup: true, which asks AWS at preview"
                problems.append(Problem(f"{path}.{key}", "missing: a capacity block has a window", fix))
    return problems
