"""A training stack on a cluster of one's own: every node group with its profile and its gate."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulumi import ComponentResource, Output, Resource, ResourceOptions, get_stack

from gpufabric.kubernetes.args import FabricGateArgs, KubernetesTrainingStackArgs, NcclValidationArgs, NodeGroupArgs
from gpufabric.kubernetes.nccl_validation import NcclValidation
from gpufabric.kubernetes.node_group import KubernetesNodeGroup
from gpufabric.plan import resolve
from gpufabric.spec import GroupsSpec, SpecError, TrainingSpec
from gpufabric.spec.own_storage import OwnFilesystemSpec

if TYPE_CHECKING:
    from gpufabric.kubernetes.fabric_gate import FabricGate
    from gpufabric.kubernetes.job_queue import JobQueue
    from gpufabric.kubernetes.local_nvme import LocalNvme
    from gpufabric.kubernetes.shared_filesystem import SharedFilesystem


class KubernetesTrainingStack(ComponentResource):
    """Node groups of an existing cluster, each with its pod profile and its gate, and a queue where one is asked for.

    ``profiles[group].apply_to(job_spec)`` gives a job the fabric of its group, and the files of every role of ``storage``.

    Raises:
        SpecError: every problem of the args, before anything is registered.
    """

    pod_profiles: Output[Mapping[str, Any]]
    """Pod profile of each group, by the group's name."""
    validation: Output[Mapping[str, Any]]
    """Verdict of each group's gate, by the group's name."""

    def __init__(self, name: str, args: KubernetesTrainingStackArgs, opts: ResourceOptions | None = None) -> None:
        GroupsSpec.parse(args, name)
        try:
            wish = TrainingSpec.parse({"cloud": "kubernetes", **args})
            plan = resolve(wish, get_stack())
        except SpecError as error:
            raise error.below(name) from None
        super().__init__("gpufabric:index:KubernetesTrainingStack", name, {}, opts)
        self.groups: dict[str, KubernetesNodeGroup] = {}
        self.gates: dict[str, NcclValidation] = {}
        self.kept: dict[str, FabricGate] = {}
        self.queues: dict[str, JobQueue] = {}
        self.local_nvme: dict[str, LocalNvme] = {}
        for group_name, disks in plan.local_nvme.items():
            from gpufabric.kubernetes import local_nvme  # its SDK modules only for those who want it

            of_disks: Any = disks.model_dump(exclude_none=True)
            self.local_nvme[group_name] = local_nvme.LocalNvme(
                f"{name}-{group_name}-nvme", of_disks, ResourceOptions(parent=self)
            )
        for group in args["node_groups"]:
            of_gate: NcclValidationArgs = {
                "node_group": group,
                "groups": args["node_groups"],
                "validation": args.get("validation", {}),
            }
            full_name = f"{name}-{group['name']}"
            queued: NodeGroupArgs = {**group}
            if "scheduler" in args and "scheduler" not in group:
                of_all: Any = args["scheduler"]  # a queue for all groups has fewer keys than one group's
                queued["scheduler"] = of_all
            self.groups[group["name"]] = KubernetesNodeGroup(full_name, queued, ResourceOptions(parent=self))
            if "scheduler" in queued:
                self.queues[group["name"]] = self._queue(full_name, queued)
            gate = NcclValidation(full_name, of_gate, ResourceOptions(parent=self))
            self.gates[group["name"]] = gate
            if wish.validation.keep:
                from gpufabric.kubernetes import fabric_gate  # its SDK modules only for those who keep the gate

                of_controller: FabricGateArgs = {**of_gate}
                self.kept[group["name"]] = fabric_gate.FabricGate(
                    full_name, of_controller, ResourceOptions(parent=self, depends_on=[gate])
                )
        self.filesystems = {key: self._filesystem(f"{name}-{key}", key, each) for key, each in _made_here(wish).items()}
        self.mounts: dict[str, Resource] = {}
        if plan.storage:
            from gpufabric.kubernetes.role_mounts import declare_mounts  # only for stacks that have roles

            self.mounts = declare_mounts(name, plan.storage, {}, self.groups, ResourceOptions(parent=self))
        self.profiles = {group.name: group.profile for group in plan.groups}
        self.pod_profiles = Output.from_input({key: profile.to_dict() for key, profile in self.profiles.items()})
        self.validation = Output.all(**{key: gate.verdict for key, gate in self.gates.items()})
        self.register_outputs({"pod_profiles": self.pod_profiles, "validation": self.validation})

    def _filesystem(self, name: str, claim: str, wish: OwnFilesystemSpec) -> "SharedFilesystem":
        from gpufabric.kubernetes.shared_filesystem import SharedFilesystem  # likewise

        args: Any = {"claim": claim, **wish.model_dump(exclude_none=True, exclude_defaults=True)}
        return SharedFilesystem(name, args, ResourceOptions(parent=self))

    def _queue(self, name: str, group: NodeGroupArgs) -> "JobQueue":
        """Beside the gate, not after it: a job may wait before there is a verdict, and after one that is bad."""
        from gpufabric.kubernetes import job_queue  # its SDK module only for those who want a queue

        return job_queue.JobQueue(name, {"node_group": group}, ResourceOptions(parent=self))


def _made_here(wish: TrainingSpec) -> dict[str, OwnFilesystemSpec]:
    """Of the file systems those whose claims do not exist."""
    return {key: each for key, each in wish.filesystems.items() if each.source_given}
