"""What a stack costs, and whose it is."""

from collections.abc import Iterator
from typing import Any, Final

from gpufabric.plan.cloud import HourlyCost
from gpufabric.plan.cost import Machines, hourly_cost
from gpufabric.policy.groups import ASG, EKS_GROUP, GKE_POOL, GpuGroup, gpu_group, gpu_groups
from gpufabric.policy.model import STACK, Resource, Setting, Settings, Stack, rule
from gpufabric.policy.rules.placement import BLOCK, RESERVATION
from gpufabric.policy.rules.storage import FSX, GOOGLE_LUSTRE
from gpufabric.policy.tree import Node, NotCheckedError

# A reservation is paid like on-demand capacity; for blocks and the rest the table has no price.
_WAYS: Final = {"reservation": "on_demand"}


def cost_of(group: GpuGroup) -> HourlyCost:
    """US dollars per hour of a group at its largest; its first part says how that was found."""
    way = _WAYS.get(group.way, group.way)
    return hourly_cost(group.cloud, group.region, [Machines(group.resource.name, group.machine.name, group.nodes, way)])


@rule(
    "budget",
    kinds=(STACK,),
    severity="high",
    needs_stack=True,
    why="Two nodes cost about a hundred dollars an hour; a typing mistake in a count is seen on the bill.",
    fix="Ask for fewer nodes, or raise the limit in the pack's configuration: that is a line in a pull request, too.",
    settings=(
        Setting(
            name="most_gpus", kind="integer", default=0, least=0, means="most GPUs of all groups at their largest; 0: no limit"
        ),
        Setting(
            name="most_usd_per_hour",
            kind="number",
            default=0,
            least=0,
            means="most US dollars per hour of all GPU machines at their largest, by the dated price table; 0: no limit",
        ),
    ),
)
def budget(root: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """The GPU groups of a stack, at their largest, stay within its budget."""
    groups = gpu_groups(stack)
    gpus = sum(each.gpus for each in groups)
    if settings["most_gpus"] and gpus > settings["most_gpus"]:
        yield f"{gpus} GPUs; at most {settings['most_gpus']:g}"
    limit = settings["most_usd_per_hour"]
    costs = {each: cost_of(each) for each in groups}
    total = sum(each.usd_per_hour or 0 for each in costs.values())
    if limit and total > limit:
        yield f"{total:.2f} USD per hour; at most {limit:g} ({'; '.join(each.parts[0] for each in costs.values())})"
    unread = _unread(stack)
    if limit and any(each.usd_per_hour is None for each in costs.values()):
        unknown = dict.fromkeys(_priced(each) for each, cost in costs.items() if cost.usd_per_hour is None)
        raise NotCheckedError(f"no price is known for {', '.join(unknown)}; the rest costs {total:.2f} USD per hour")
    if unread:
        raise NotCheckedError(f"groups that cannot be read are not counted: {', '.join(unread)}")


def _priced(group: GpuGroup) -> str:
    return f"{group.machine.name} {group.way.replace('_', ' ')} in {group.region or 'an unknown region'}"


def _unread(stack: Stack) -> list[str]:
    found = []
    for each in stack.of(EKS_GROUP, ASG, GKE_POOL):
        try:
            gpu_group(each, stack)
        except NotCheckedError:
            found.append(each.name)
    return found


BILLED: Final = (EKS_GROUP, GKE_POOL, FSX, GOOGLE_LUSTRE, RESERVATION, BLOCK)


def tags_of(resource: Resource) -> dict[str, Node]:
    """Tags or labels, the provider's default ones included. Google's labels are lower case."""
    found: dict[str, Any] = {}
    for place in (
        resource.provider.at("defaultTags.tags"),
        resource.provider["defaultLabels"],
        resource.props.at("nodeConfig.resourceLabels"),
        resource.props["labels"] if resource.kind.startswith("gcp:") else resource.props["tags"],
    ):
        found.update(place.entries())
    return found


def missing_tags(resource: Resource, settings: Settings) -> list[str]:
    """Keys without a value."""
    tags = tags_of(resource)
    return [key for key in settings["keys"] if key not in tags or not tags[key].present]


def add_tags(resource: Resource, settings: Settings) -> dict[str, dict[str, str]]:
    """Values for missing tags, on AWS, where all that is billed has the same key for them."""
    if not resource.kind.startswith("aws:"):
        return {}
    added = {key: str(settings["values"][key]) for key in missing_tags(resource, settings) if key in settings["values"]}
    return {"tags": added} if added else {}


@rule(
    "ttl-and-owner",
    kinds=BILLED,
    severity="medium",
    prod="advisory",
    why="A cluster that nobody owns runs until somebody reads the bill.",
    fix="Tag it, most simply by `default_tags` of the provider; `tags` of a gpufabric stack reach all it makes. Or let the "
    "level `remediate` add `values`.",
    settings=(
        Setting(
            name="keys", kind="array", of="string", default=["owner", "ttl"], means="tags (Google: labels) that must be there"
        ),
        Setting(name="values", kind="object", default={}, means="on AWS, what a missing tag gets at the level `remediate`"),
    ),
    remedy=add_tags,
)
def ttl_and_owner(resource: Resource, stack: Stack, settings: Settings) -> Iterator[str]:
    """What is billed by the hour says whose it is and until when."""
    missing = missing_tags(resource, settings)
    if missing:
        yield f"no tag {' and no tag '.join(missing)}"
