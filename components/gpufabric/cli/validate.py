"""``gpufabric validate``: measure again what was measured before."""

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from gpufabric.cli.console import err, out, read_plan, tell
from gpufabric.spec import SpecError, find_stack_file, run_of, with_run


def validate(
    stack: Annotated[str, typer.Option(help="The Pulumi stack", show_default=False)],
    cwd: Annotated[Path, typer.Option(help="Folder of the Pulumi project")] = Path(),
) -> None:
    """Validate a stack again: raise validation.run in its file, then run `pulumi up --yes`, whose exit code this has.

    Nodes that are busy are drained for it: their pods are evicted.
    """
    if shutil.which("pulumi") is None:
        err.print("no program `pulumi` on PATH; nothing was changed")
        raise typer.Exit(2)
    try:
        file = find_stack_file(cwd, stack)
    except SpecError as error:
        err.print(str(error))
        raise typer.Exit(1) from None
    if isinstance(read_plan(file), SpecError):
        raise typer.Exit(1)
    try:
        text = file.read_bytes().decode()  # with the ends of lines as they are
        run = run_of(text) or 1
        edited = with_run(text, run + 1)
        file.write_bytes(edited.encode())
    except SpecError as error:
        tell(file, error)
        raise typer.Exit(1) from None
    except OSError as error:
        err.print(f"{file}: {error.strerror}")
        raise typer.Exit(1) from None
    out.print(f"{file}: validation.run is {run + 1}, was {run}")
    command = ["pulumi", "--cwd", str(cwd), "up", "--yes", "--stack", stack]
    out.file.flush()
    # Replaced by pulumi, not its parent: Ctrl-C, the terminal and the exit code are pulumi's own, and no update is cut off.
    os.execvp(command[0], command)  # noqa: S606
