"""Which machine of a cloud a group is made of: named, or the only one that holds the accelerators."""

from collections.abc import Mapping
from typing import TypeVar

from gpufabric.hardware import Machine, UnknownHardwareError
from gpufabric.spec import Problem
from gpufabric.spec.cloud import CloudNodeGroupSpec

M = TypeVar("M", bound=Machine)


def group_machine(wish: CloudNodeGroupSpec, machines: Mapping[str, M], cloud: str, path: str) -> M | Problem:
    """The machine, or why there is none. ``cloud``: its name in a sentence."""
    named = wish.machine_type is not None
    found = _named(wish, machines, path) if named else _holding(wish.accelerators, machines, cloud, path)
    if isinstance(found, Problem) or not found.refusal:
        return found
    where = f"{path}.{'machine_type' if named else 'accelerators'}"
    fix = f"write one of {', '.join(name for name, row in machines.items() if not row.refusal)}"
    return Problem(where, f"{found.name} is not built: {found.refusal}", fix, str(found.provenance))


def _named(wish: CloudNodeGroupSpec, machines: Mapping[str, M], path: str) -> M | Problem:
    name = wish.machine_type or ""
    row = machines.get(name)
    if row is None:
        return Problem(f"{path}.machine_type", str(UnknownHardwareError("machine", name, machines)), "write one of these")
    if not row.refusal and wish.accelerators not in (None, row.holds):
        reason = f"{row.name} holds {row.holds}, not {wish.accelerators}"
        return Problem(f"{path}.accelerators", reason, f"write {row.holds}, or leave it out", str(row.provenance))
    return row


def _holding(accelerators: str | None, machines: Mapping[str, M], cloud: str, path: str) -> M | Problem:
    built = [row for row in machines.values() if not row.refusal]
    if accelerators is None:
        example = next(row for row in built if row.fabric and row.accelerators == 8)
        fix = f"write a machine such as {example.name}, or accelerators: {example.holds}"
        return Problem(f"{path}.machine_type", "missing", fix)
    rows = [row for row in machines.values() if row.holds == accelerators]
    if len(rows) > 1:
        names = ", ".join(row.name for row in rows)
        return Problem(f"{path}.machine_type", f"missing: several machines hold {accelerators}", f"write one of {names}")
    if not rows:
        having = ", ".join(dict.fromkeys(row.holds for row in built))
        reason = f"no machine of {cloud} that is known here holds {accelerators}"
        return Problem(f"{path}.accelerators", reason, f"write one of {having}")
    return rows[0]
