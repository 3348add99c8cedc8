"""Ask AWS at preview for a capacity block that a wish names: ``capacity.lookup: true``, and never at import."""

from typing import Any

from pulumi import InvokeOptions, ResourceOptions
from pulumi_aws import ec2

from gpufabric.plan.aws.lookup import to_look_up
from gpufabric.plan.aws.reservation import Reservation
from gpufabric.spec import Problem, SpecError
from gpufabric.spec.aws import AwsTrainingSpec
from gpufabric.spec.cloud import instant


def look_up_groups(spec: AwsTrainingSpec, opts: ResourceOptions | None) -> dict[int, Reservation]:
    """The blocks of all groups that ask for it, by position; raises :class:`SpecError` for those that AWS does not have."""
    found: dict[int, Reservation] = {}
    problems: list[Problem] = []
    for position, wanted in to_look_up(spec).items():
        try:
            found[position] = look_up(wanted, spec.region, opts, f"node_groups[{position}].capacity.id")
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return found


def look_up(wanted: str, region: str, opts: ResourceOptions | None, path: str) -> Reservation:
    """One block, asked for with the provider that ``opts`` name; raises :class:`SpecError`."""
    try:
        found = ec2.get_capacity_block_reservation(id=wanted, region=region, opts=_asking(opts))
    except Exception as error:  # noqa: BLE001 - the engine raises a bare Exception with the provider's words
        words = " ".join(str(error).split())[:200]
        raise SpecError([Problem(path, f"AWS does not describe {wanted}: {words}", "check id, region and account")]) from None
    return Reservation(
        id=found.id,
        state=found.state,
        type=found.reservation_type,
        machine=found.instance_type,
        zone=found.availability_zone,
        total=found.instance_count,
        free=found.available_instance_count,
        starts_at=instant(found.start_date),
        ends_at=instant(found.end_date),
        in_placement_group=bool(found.placement_group_arn),
    )


def _asking(opts: ResourceOptions | None) -> InvokeOptions:
    """Options of a call: the parent's provider, or AWS's among those that were given."""
    if opts is None:
        return InvokeOptions()
    given: Any = opts.provider or opts.providers or []
    each = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list | tuple) else [given]
    aws = [provider for provider in each if provider.package == "aws"]
    return InvokeOptions(parent=opts.parent, provider=aws[0] if aws else None)
