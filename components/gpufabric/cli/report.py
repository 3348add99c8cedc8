"""``gpufabric report``: verdicts as one HTML page."""

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gpufabric import __version__
from gpufabric.cli.console import err, out, read_plan
from gpufabric.plan import GroupsPlan, resolve_any
from gpufabric.report import NoVerdictError, Verdict, page, read_verdicts
from gpufabric.spec import SpecError, find_stack_file, read_stack_file


class CannotReadError(Exception):
    """There is nothing to report on; the message says why."""


def report(
    file: Annotated[
        Path | None, typer.Argument(help="verdict.json, a stack's outputs, or - for stdin", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write")] = Path("report.html"),
    stack: Annotated[str | None, typer.Option(help="Read the outputs of this Pulumi stack instead of a file")] = None,
    cwd: Annotated[Path, typer.Option(help="Folder of the Pulumi project")] = Path(),
    spec: Annotated[Path | None, typer.Option(help="Stack file, to draw what healthy clusters of its hardware give")] = None,
) -> None:
    """Draw verdicts as one HTML page that needs no other file; exit 2 if there is none."""
    if (file is None) == (stack is None):
        err.print("give either a file or --stack")
        raise typer.Exit(2)
    plan: GroupsPlan | None = None
    if spec is not None:
        found = read_plan(spec)
        if isinstance(found, SpecError):
            raise typer.Exit(2)
        plan = found
    elif stack is not None:
        plan = _plan_of(cwd, stack)
    note = f"Outputs of the stack {stack}: of the last `pulumi up` that succeeded." if stack else f"Read from {file}."
    try:
        verdicts = read_verdicts(_outputs(cwd, stack) if stack is not None else _text(file or Path("-")))
        output.write_text(page(_with_healthy(verdicts, plan), version=__version__, note=note), encoding="utf-8")
    except (NoVerdictError, CannotReadError) as error:
        err.print(f"{stack or file}: {error}")
        raise typer.Exit(2) from None
    except OSError as error:
        err.print(f"{output}: {error.strerror}")
        raise typer.Exit(2) from None
    said = ", ".join(f"{verdict.group} {verdict.outcome}" for verdict in verdicts)
    out.print(f"{output}: {said}")


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CannotReadError(error.strerror or type(error).__name__) from None


def _outputs(cwd: Path, stack: str) -> str:
    """The stack's outputs as JSON, asked of the user's own pulumi, with its own log-in; secrets stay hidden."""
    command = ["pulumi", "--non-interactive", "--cwd", str(cwd), "stack", "output", "--json", "--stack", stack]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        raise CannotReadError("no program `pulumi` on PATH") from None
    if done.returncode:
        raise CannotReadError(f"pulumi stack output: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def _plan_of(cwd: Path, stack: str) -> GroupsPlan | None:
    """The plan of a stack's file, where it has one that can be read: the page loses one band without it, and no more."""
    try:
        found = read_stack_file(find_stack_file(cwd, stack))
        return resolve_any(found.spec, found.stack)
    except SpecError:
        return None


def _with_healthy(verdicts: Iterable[Verdict], plan: GroupsPlan | None) -> list[Verdict]:
    """The verdicts with the healthy range of their hardware, where the plan is the one they were measured for."""
    groups = {group.name: group for group in plan.groups} if plan else {}
    filled = []
    for verdict in verdicts:
        group = groups.get(verdict.group)
        if (
            group is not None
            and verdict.healthy_busbw_gbytes_per_s is None
            and verdict.size_bytes == group.gate.gate.expectation.max_bytes
            and verdict.ranks == group.gate.gate.expectation.ranks
            and verdict.backend == group.gate.gate.expectation.backend
        ):
            filled.append(replace(verdict, healthy_busbw_gbytes_per_s=group.floor.healthy_busbw_gbytes_per_s))
        else:
            filled.append(verdict)
    return filled
