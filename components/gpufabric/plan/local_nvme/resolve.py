"""From the wish to the plan of the local NVMe of some nodes; raises :class:`SpecError` with every problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufabric.hardware.machines import machines
from gpufabric.local_nvme import contract
from gpufabric.plan.agents import shipped_files
from gpufabric.plan.gate import digest
from gpufabric.plan.images import unpinned
from gpufabric.plan.local_nvme.daemon_set import daemon_set
from gpufabric.plan.local_nvme.pod import PodScratch
from gpufabric.plan.names import dns_label, stack_slug
from gpufabric.plan.node_policy import node_policy, rule
from gpufabric.spec import GroupsSpec, NodeGroupSpec, Problem, SpecError, dotted
from gpufabric.spec.local_nvme import GroupNvmeSpec, LocalNvmeSpec

ROLE_RULES: tuple[Mapping[str, Any], ...] = ({"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]},)
"""The agent's rights; the policy says which node and which of its fields."""
_OF_NODE = "authentication.kubernetes.io/node-name"
"""Kubernetes tells an admission policy which node the pod of a token runs on (1.30)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNvmePlan:
    """``cluster_name`` is that of everything cluster-scoped, ``object_name`` of what lies in the namespace.

    ``cache_path``: the folder of the node that caches of buckets may lie in. ``storage_class``: None where none is wished.
    """

    namespace: str
    own_namespace: bool
    object_name: str
    cluster_name: str
    files: Mapping[str, str]
    daemon_set_spec: Mapping[str, Any]
    node_policy: Mapping[str, Any]
    node_policy_binding: Mapping[str, Any]
    storage_class: str | None
    cache_path: str
    pod: PodScratch


def resolve_local_nvme(wish: LocalNvmeSpec, stack: str) -> LocalNvmePlan:
    """The plan of one component."""
    if problems := nvme_problems(wish):
        raise SpecError(problems)
    cluster_name = dns_label(f"gpufabric-{stack_slug(stack)}-nvme-{wish.name}")
    namespace, name = wish.namespace or cluster_name, f"nvme-{wish.name}"
    files = shipped_files("local_nvme", contract.SHIPPED_TOO)
    return LocalNvmePlan(
        namespace=namespace,
        own_namespace=wish.namespace is None,
        object_name=name,
        cluster_name=cluster_name,
        files=files,
        daemon_set_spec=daemon_set(wish, name, files, digest(files)[:16]),
        node_policy=_own_label_alone(f"system:serviceaccount:{namespace}:{name}"),
        node_policy_binding={"policyName": cluster_name, "validationActions": ["Deny"]},
        storage_class=cluster_name if wish.local_volume else None,
        cache_path=f"{wish.node_path}/{contract.CACHE}",
        pod=PodScratch(node_path=wish.node_path, path=wish.pod_path),
    )


def nvme_problems(wish: LocalNvmeSpec) -> list[Problem]:
    """What a model cannot see by itself."""
    problems = [*unpinned("disk_image", wish.disk_image), *unpinned("image", wish.image)]
    if wish.disks and len([each for each in wish.devices if not set("*?[") & set(each)]) > wish.disks:
        problems.append(Problem("disks", f"devices names more than {wish.disks}", "write how many disks each node has"))
    return problems


def of_groups(spec: GroupsSpec) -> dict[str, LocalNvmeSpec]:
    """The wishes of a stack, by group; raises :class:`SpecError` with every problem of all of them."""
    positions = {group.name: position for position, group in enumerate(spec.node_groups)}
    found, problems = {}, []
    for name, asked in spec.local_nvme.items():
        at = dotted("local_nvme", [name])
        if name not in positions:
            problems.append(Problem(at, "no such node group", f"write one of {', '.join(positions)}"))
            continue
        group, elsewhere = spec.node_groups[positions[name]], f"node_groups[{positions[name]}].local_disk.path"
        problems += _disks_problems(group, asked, at)
        try:
            wish = _of_group(group, asked, spec.validation.image)
            found[name] = wish
            told = nvme_problems(wish)
        except SpecError as error:
            told = [*error.problems]
        # The gate asks for its image, too; where the disks are mounted is said in the group.
        problems += [
            replace(each, path=elsewhere) if each.path == "node_path" else each.below(at)
            for each in told
            if each.path != "image"
        ]
    if problems:
        raise SpecError(problems)
    return found


def _of_group(group: NodeGroupSpec, asked: GroupNvmeSpec, image: str | None) -> LocalNvmeSpec:
    """Raises :class:`SpecError`."""
    where = {"node_path": group.local_disk.path} if group.local_disk else {}
    said = {
        **asked.model_dump(exclude_none=True),
        **where,
        "name": group.name,
        "node_selector": group.node_selector,
        "tolerates": group.tolerates or [],
    }
    disks = asked.disks or _table_disks(group)
    return LocalNvmeSpec.parse({**said, **({"disks": disks} if disks else {}), **({"image": image} if image else {})})


def _table_disks(group: NodeGroupSpec) -> int:
    """How many local disks the group's machine has, by its table; 0: not known."""
    machine = machines().get(group.machine_type or "")
    return machine.local_disks if machine else 0


def _disks_problems(group: NodeGroupSpec, asked: GroupNvmeSpec, at: str) -> Sequence[Problem]:
    known = _table_disks(group)
    if asked.disks is None or not known or asked.disks == known:
        return []
    return [Problem(f"{at}.disks", f"{group.machine_type} has {known} local disks", "leave it out")]


def _own_label_alone(account: str) -> dict[str, Any]:
    """The agent changes one label, of the node that it runs on."""
    label, who = contract.LABEL_GIB, "gpufabric's agent of local disks"
    policy = node_policy(
        [account],
        condition="the-agents-account",
        labels=(f"k == '{label}'", f"may change only the label {label} of a node"),
        who=who,
    )
    where = f"'{_OF_NODE}' in request.userInfo.extra && object.metadata.name in request.userInfo.extra['{_OF_NODE}']"
    return {**policy, "validations": [*policy["validations"], rule(where, f"{who} may change only the node that it runs on")]}
