"""Where the commands speak: words and tables on stdout, problems on stderr."""

from pathlib import Path

from rich.console import Console

from gpufabric.plan import GroupsPlan, resolve_any
from gpufabric.spec import CONFIG_KEY, SpecError, read_stack_file

# Plain text: `[...]` in a value is no markup and `:key:` no emoji.
out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
err = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def read_plan(file: Path) -> GroupsPlan | SpecError:
    """The plan of a file, or the problems, which have been printed."""
    try:
        found = read_stack_file(file)
    except SpecError as error:
        tell(file, error)
        return error
    try:
        return resolve_any(found.spec, found.stack)
    except SpecError as error:
        tell(file, error.below(CONFIG_KEY))
        return error


def tell(file: Path, error: SpecError) -> None:
    """Every problem of a file, one line each."""
    for problem in error.problems:
        err.print(str(problem) if problem.path.startswith(str(file)) else f"{file}: {problem}")
