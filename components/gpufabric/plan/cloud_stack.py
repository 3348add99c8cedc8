"""The end of every cloud's plan: its parts, the roles of storage and the gates. All problems are reported together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from gpufabric.plan.cloud_group import plan_gates
from gpufabric.plan.cloud_model import CloudGroupPlan
from gpufabric.plan.collect import kept
from gpufabric.plan.model import GroupPlan
from gpufabric.spec import Problem, SpecError, ValidationSpec
from gpufabric.spec.cloud.roles import StorageSpec

if TYPE_CHECKING:
    from gpufabric.plan.storage.model import RolePlan, Shelf

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class StackParts(Generic[P]):
    """What a stack is made of beside its nodes. ``gates``: of the groups, with the files of the roles in their profiles."""

    parts: P
    gates: tuple[GroupPlan, ...]
    storage: "tuple[RolePlan, ...]"


def plan_stack_parts(
    problems: list[Problem],
    groups: Sequence[CloudGroupPlan],
    *,
    parts: Callable[[], P],
    shelf: "Callable[[P], Shelf]",
    storage: StorageSpec | None,
    validation: ValidationSpec,
    stack: str,
    service: str,
) -> StackParts[P]:
    """The rest of a plan; raises :class:`SpecError` with ``problems``, which were found before, and all of its own.

    ``shelf``: what the parts can keep files in, asked for by roles of storage alone. ``service``: as :func:`plan_gates`.
    """

    def keep(made: P) -> "tuple[RolePlan, ...]":
        from gpufabric.plan.storage.resolve import plan_storage  # only for stacks that have roles

        return plan_storage(storage, shelf(made), image=validation.image or "", stack=stack)

    made = kept(problems, parts)
    roles = kept(problems, lambda: keep(made)) if storage is not None and made is not None else ()
    gates = kept(problems, lambda: plan_gates(groups, validation, stack, service))
    if problems or made is None or roles is None or gates is None:
        raise SpecError(problems)
    if roles:
        from gpufabric.plan.storage.stack import with_storage

        gates = with_storage(gates, roles)
    return StackParts(made, gates, roles)
