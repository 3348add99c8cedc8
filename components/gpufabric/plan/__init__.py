"""Ring 3: decisions. Pure functions from wishes and hardware facts to a plan; every check across fields is made here."""

from gpufabric.plan.clouds import resolve_any
from gpufabric.plan.explain import Line, explain
from gpufabric.plan.merge import ProfileConflictError
from gpufabric.plan.model import GatePlan, GroupPlan, GroupsPlan, StackPlan
from gpufabric.plan.node_check import NodeCheckPlan, resolve_node_check
from gpufabric.plan.profile import PodAdmission, PodFabric, PodProfile
from gpufabric.plan.resolve import (
    decide_hardware,
    pod_profile,
    resolve,
    resolve_gate,
    resolve_group,
    resolve_profile,
    resolve_queue,
)

__all__ = [
    "GatePlan",
    "GroupPlan",
    "GroupsPlan",
    "Line",
    "NodeCheckPlan",
    "PodAdmission",
    "PodFabric",
    "PodProfile",
    "ProfileConflictError",
    "StackPlan",
    "decide_hardware",
    "explain",
    "pod_profile",
    "resolve",
    "resolve_any",
    "resolve_gate",
    "resolve_group",
    "resolve_node_check",
    "resolve_profile",
    "resolve_queue",
]
