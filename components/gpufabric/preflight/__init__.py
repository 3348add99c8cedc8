"""Look, read-only, at what a plan needs to find: before anything is created, with every finding in one report.

Beside the rings: knows spec, plan and the small API client of ``gpufabric.validation``; never Pulumi. A cloud is asked through
its own reading client, which is imported when it is asked.
"""

from gpufabric.plan import GroupsPlan, StackPlan
from gpufabric.preflight.kubeconfig import KubeconfigError, connect
from gpufabric.preflight.kubernetes import preflight_kubernetes
from gpufabric.spec import Problem, SpecError

__all__ = ["KubeconfigError", "connect", "preflight_any", "preflight_kubernetes"]


def preflight_any(plan: GroupsPlan) -> str:
    """Look at what the plan of any cloud needs, and say where; raises SpecError with every finding."""
    if isinstance(plan, StackPlan):
        preflight_kubernetes(plan)
        return "the cluster"
    from gpufabric.plan.aws import AwsStackPlan
    from gpufabric.plan.gcp import GcpStackPlan

    if isinstance(plan, AwsStackPlan):
        from gpufabric.preflight.aws import preflight_aws

        preflight_aws(plan)
        return "the account"
    if isinstance(plan, GcpStackPlan):
        from gpufabric.preflight.gcp import preflight_gcp

        preflight_gcp(plan)
        return "the project"
    raise SpecError([Problem("cloud", "nothing looks into this cloud's account yet", "pulumi preview asks it what it can")])
