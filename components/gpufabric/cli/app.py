"""The commands and their exit codes. Words and tables go to stdout, problems to stderr."""

import math
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gpufabric import __version__
from gpufabric.cli.console import err, out, read_plan, tell
from gpufabric.cli.report import report
from gpufabric.cli.review import review
from gpufabric.cli.validate import validate
from gpufabric.plan import explain
from gpufabric.spec import CONFIG_KEY, SpecError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="GPU training clusters, proven."
)
nccl = typer.Typer(no_args_is_help=True, help="Work with the output of nccl-tests.")
app.add_typer(nccl, name="nccl")
app.command("report")(report)
app.command("review")(review)
app.command("validate")(validate)

Files = Annotated[list[Path], typer.Argument(help="Stack files: Pulumi.<stack>.yaml", show_default=False)]
File = Annotated[Path, typer.Argument(help="A stack file: Pulumi.<stack>.yaml", show_default=False)]


def main() -> None:
    """Entry point of the ``gpufabric`` command."""
    app()


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        out.print(__version__)
        raise typer.Exit


@app.command()
def check(files: Files) -> None:
    """Check stack files: every problem of every file and exit 1, or one line each and exit 0. Asks no cluster and no cloud."""
    failed = 0
    for file in files:
        plan = read_plan(file)
        if isinstance(plan, SpecError):
            failed += 1
            continue
        groups = ", ".join(f"{g.name}: {g.nodes} x {g.accelerators} on {g.fabric.name}" for g in plan.groups)
        out.print(f"{file}: ok ({groups})")
    if failed:
        raise typer.Exit(1)


@app.command("explain")
def explain_command(file: File) -> None:
    """Say what a stack file will build, and why."""
    plan = read_plan(file)
    if isinstance(plan, SpecError):
        raise typer.Exit(1)
    for title, lines in explain(plan):
        table = Table("what", "decision", "why", title=title, title_justify="left", show_lines=False)
        for line in lines:
            table.add_row(line.subject, line.decision, line.why)
        out.print(table)


@app.command()
def preflight(file: File) -> None:
    """Look, read-only, at whether cluster, account or project has what a stack file needs; exit 1 with every finding."""
    from gpufabric.preflight import preflight_any

    plan = read_plan(file)
    if isinstance(plan, SpecError):
        raise typer.Exit(1)
    try:
        where = preflight_any(plan)
    except SpecError as error:
        tell(file, error.below(CONFIG_KEY))
        raise typer.Exit(1) from None
    out.print(f"{file}: {where} has what it needs")


@nccl.command("parse")
def nccl_parse(
    file: Annotated[Path, typer.Argument(help="Output of an nccl-tests program", show_default=False)],
    ranks: Annotated[int, typer.Option(help="Ranks the run should have had", min=1)],
    floor: Annotated[float, typer.Option(help="Least bus bandwidth of the largest size, GB/s, above 0")],
    size: Annotated[str, typer.Option(help="Largest size the run was asked for, such as 8G")] = "8G",
    collective: Annotated[str, typer.Option(help="Collective that was run")] = "all_reduce",
    transport: Annotated[str | None, typer.Option(help="Regular expression of a line that proves the fabric")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON")] = False,
) -> None:
    """Judge the output of a run: exit 0 pass, 1 fail, 2 unknown (incomplete or not to be trusted)."""
    from gpufabric.spec import size_bytes
    from gpufabric.validation.gate_json import Expectation
    from gpufabric.validation.judge import judge

    if not 0 < floor < math.inf:
        err.print(f"--floor: {floor:g} lets everything or nothing pass; write the least GB/s that you accept")
        raise typer.Exit(2)
    try:
        largest = size_bytes(size)
        re.compile(transport or "")
        text = file.read_text(encoding="utf-8", errors="replace")
    except re.error as error:
        err.print(f"--transport: not a regular expression: {error}")
        raise typer.Exit(2) from None
    except ValueError:
        err.print(f"--size: {size!r} is not a message size; write for example 8G")
        raise typer.Exit(2) from None
    except OSError as error:
        err.print(f"{file}: {error.strerror}")
        raise typer.Exit(2) from None
    expectation = Expectation(
        backend="nccl",
        collective=collective,
        ranks=ranks,
        ranks_per_node=1,
        min_bytes=largest,
        max_bytes=largest,
        factor=2,
        floor_busbw_gbytes_per_s=floor,
        floor_source="given on the command line",
        transport_regex=transport,
    )
    found = judge(text, expectation)
    out.print(found.to_json(1 << 20) if as_json else f"{found.outcome}: {found.reason}")
    raise typer.Exit({"pass": 0, "fail": 1}.get(found.outcome, 2))
