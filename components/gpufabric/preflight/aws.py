"""What a plan for AWS needs to find there, read-only: machines, quotas, reservations, network, and what it takes as given."""

from gpufabric.plan.aws import AwsStackPlan
from gpufabric.plan.aws.cluster import ClusterPlan
from gpufabric.preflight import aws_capacity, aws_existing, aws_network
from gpufabric.preflight.aws_client import Aws
from gpufabric.preflight.questions import Questions, on_path


def preflight_aws(plan: AwsStackPlan, aws: Aws | None = None) -> None:
    """Raise :class:`SpecError` with everything in the account that would stop this plan. Changes nothing.

    ``aws``: who is asked; default the account of the usual credentials. What may not be asked is said, and the rest still is.
    """
    aws = aws or Aws(plan.region)
    questions = Questions()
    questions.ask("programs", lambda: on_path("aws", "install the AWS command line"))
    name = plan.parts.cluster.name if isinstance(plan.parts.cluster, ClusterPlan) else plan.parts.cluster
    found = questions.value(f"whether the cluster {name} is there", lambda: aws_existing.find_cluster(aws, name))
    is_there = found is not None
    questions.ask("who asks", lambda: aws_existing.caller(aws, plan, cluster_is_there=is_there))
    questions.ask("machines in the zone", lambda: aws_capacity.offered(aws, plan))
    questions.ask("machines as our table says", lambda: aws_capacity.as_the_tables_say(aws, plan))
    questions.ask("quotas", lambda: aws_capacity.quotas(aws, plan))
    questions.ask("reservations", lambda: aws_capacity.reservations(aws, plan, in_use=is_there))
    questions.ask("the network", lambda: aws_network.network(aws, plan, in_use=is_there))
    questions.ask("the cluster", lambda: aws_existing.cluster(aws, plan))
    questions.ask("storage", lambda: aws_existing.storage(aws, plan))
    questions.report()
