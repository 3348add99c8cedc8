"""Deadlines of a gate, each derived from those inside it: benchmark < rank Jobs < coordinator Job < Pulumi resource.

Were an outer clock to ring first, the user would read "timed out" instead of the reason that the inner program knows.
"""

from dataclasses import dataclass
from math import ceil

from gpufabric.spec import ValidationSpec
from gpufabric.validation import contract, gate_json

_STOP_S = 30  # time for a program that hit its own deadline to say so
_REPORT_S = 60  # time for the coordinator to collect logs, label nodes and write the verdict
_BETWEEN_S = 60  # a pair's result may come late, and what was measured before must be gone from the nodes
_CLEAR_S = 100  # the coordinator waits 45 s each for what was there before and for what it made, and 10 s for a late rank Job
_FIRST_PULL_S = 300  # the coordinator's own image, a small one, and a free place on a system node


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds. ``judge_s`` counts from the start of a rank pod, ``rank_job_s`` from the creation of the rank Job."""

    nodes_s: int
    ranks_start_s: int
    benchmark_s: int
    judge_s: int
    rank_job_s: int
    coordinator_s: int
    resource_s: int


def gate_deadlines(wish: ValidationSpec, nodes: int, stages_s: int = 0) -> Deadlines:
    """All clocks of a gate from the three that a user may set, and the time of stage 1 and of a long stage 0.

    Where pairs can tell who it is, there is time for all rounds; a pair's nodes have been through these stages already.
    """
    nodes_s, start_s, benchmark_s = (ceil(60 * m) for m in (wish.nodes_minutes, wish.start_minutes, wish.benchmark_minutes))
    judge_s = start_s + stages_s + benchmark_s + _STOP_S
    rank_job_s = start_s + judge_s + _STOP_S
    of_group = gate_json.Timeouts(nodes_s=nodes_s, ranks_start_s=start_s, benchmark_s=benchmark_s, rank_job_s=rank_job_s)
    rounds = contract.PAIR_ROUNDS if nodes >= contract.LEAST_NODES_FOR_PAIRS else 0
    of_pairs_s = rounds * (of_group.of_pair(stages_s).rank_job_s + _BETWEEN_S)
    coordinator_s = nodes_s + rank_job_s + of_pairs_s + _CLEAR_S + _REPORT_S
    return Deadlines(
        nodes_s=nodes_s,
        ranks_start_s=start_s,
        benchmark_s=benchmark_s,
        judge_s=judge_s,
        rank_job_s=rank_job_s,
        coordinator_s=coordinator_s,
        resource_s=coordinator_s + _FIRST_PULL_S + _STOP_S,
    )
