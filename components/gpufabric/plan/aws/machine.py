"""Which machine a group is made of: named, or the only one that holds the accelerators."""

from gpufabric.hardware import AwsMachine, UnknownHardwareError, aws_machine, aws_machines
from gpufabric.spec import Problem
from gpufabric.spec.aws import EksNodeGroupSpec


def group_machine(wish: EksNodeGroupSpec, path: str) -> AwsMachine | Problem:
    """The machine, or why there is none."""
    found = _named(wish, path) if wish.machine_type is not None else _holding(wish.accelerators, path)
    if isinstance(found, Problem) or not found.refusal:
        return found
    where = f"{path}.machine_type" if wish.machine_type else f"{path}.accelerators"
    fix = f"write one of {', '.join(name for name, row in aws_machines().items() if not row.refusal)}"
    return Problem(where, f"{found.name} is not built: {found.refusal}", fix, str(found.provenance))


def _named(wish: EksNodeGroupSpec, path: str) -> AwsMachine | Problem:
    try:
        row = aws_machine(wish.machine_type or "")
    except UnknownHardwareError as error:
        return Problem(f"{path}.machine_type", str(error), "write one of these")
    holds = f"{row.accelerator}:{row.accelerators}"
    if not row.refusal and wish.accelerators not in (None, holds):
        reason = f"{row.name} holds {holds}, not {wish.accelerators}"
        return Problem(f"{path}.accelerators", reason, f"write {holds}, or leave it out", str(row.provenance))
    return row


def _holding(accelerators: str | None, path: str) -> AwsMachine | Problem:
    if accelerators is None:
        return Problem(f"{path}.machine_type", "missing", "write a machine such as p5.48xlarge, or accelerators: H100:8")
    rows = [row for row in aws_machines().values() if f"{row.accelerator}:{row.accelerators}" == accelerators]
    if len(rows) > 1:
        names = ", ".join(row.name for row in rows)
        return Problem(f"{path}.machine_type", f"missing: several machines hold {accelerators}", f"write one of {names}")
    if not rows:
        having = ", ".join(dict.fromkeys(f"{r.accelerator}:{r.accelerators}" for r in aws_machines().values() if not r.refusal))
        return Problem(
            f"{path}.accelerators", f"no machine of AWS that is known here holds {accelerators}", f"write one of {having}"
        )
    return rows[0]
