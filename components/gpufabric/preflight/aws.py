"""What a plan for AWS needs to find there, read-only: machines, quotas, reservations, network, and what it takes as given."""

import shutil
from collections.abc import Callable, Iterable

from gpufabric.plan.aws import AwsStackPlan
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.preflight import aws_capacity, aws_existing, aws_network
from gpufabric.preflight.aws_client import Aws, AwsError
from gpufabric.spec import Problem, SpecError


def preflight_aws(plan: AwsStackPlan, aws: Aws | None = None) -> None:
    """Raise :class:`SpecError` with everything in the account that would stop this plan. Changes nothing.

    ``aws``: who is asked; default the account of the usual credentials. What may not be asked is said, and the rest still is.
    """
    aws = aws or Aws(plan.region)
    problems = list(_tools())
    found = None
    try:
        name = plan.parts.cluster.name if isinstance(plan.parts.cluster, ClusterPlan) else plan.parts.cluster
        found = aws_existing.find_cluster(aws, name)
    except AwsError as error:
        problems.append(error.problem)
    is_there = found is not None
    questions: list[Callable[[], Iterable[Problem]]] = [
        lambda: aws_existing.caller(aws, plan, cluster_is_there=is_there),
        lambda: aws_capacity.offered(aws, plan),
        lambda: aws_capacity.as_the_tables_say(aws, plan),
        lambda: aws_capacity.quotas(aws, plan),
        lambda: aws_capacity.reservations(aws, plan, in_use=is_there),
        lambda: aws_network.network(aws, plan, in_use=is_there),
        lambda: aws_existing.cluster(aws, plan, found),
        lambda: aws_existing.storage(aws, plan),
    ]
    for question in questions:
        try:
            problems += question()
        except AwsError as error:
            problems.append(error.problem)
    if problems:
        raise SpecError(dict.fromkeys(problems))


def _tools() -> Iterable[Problem]:
    """The kubeconfig of the cluster calls it."""
    if shutil.which("aws") is None:
        yield Problem(
            "", "no program `aws` on PATH: the cluster's kubeconfig asks it for tokens", "install the AWS command line"
        )
