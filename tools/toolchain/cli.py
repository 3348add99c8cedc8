"""Commands: ensure, path, list."""

import argparse

from tools.toolchain.build import ensure_built, missing
from tools.toolchain.debian import BROWSER, CLUSTER, IMAGE, ensure_packages, ensure_usermode
from tools.toolchain.path import Choice, choose, make_path_folder
from tools.toolchain.programs import OPTIONAL, Program, read_programs, select

DESCRIPTION = """Builds the pinned programs that this machine lacks, once, into a user cache ($GPUFABRIC_CACHE).

An official Pulumi on PATH makes the engine group unnecessary; the cluster group is always the pinned one."""


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.toolchain", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    ensure_parser = commands.add_parser("ensure", help="build what is missing")
    ensure_parser.add_argument(
        "what",
        nargs="?",
        default="all",
        help="engine, cluster, addon, all, extra, provider-aws, provider-google, browser, usermode, or one program's name",
    )
    commands.add_parser("path", help="print the folder to put first on PATH")
    commands.add_parser("list", help="what is there, what would be built, and how long that takes")
    arguments = parser.parse_args()
    if arguments.command == "ensure":
        return ensure(arguments.what)
    if arguments.command == "path":
        print(path_folder())
        return 0
    return show()


def ensure(what: str) -> int:
    """Build (and for the cluster install) what is missing of a group."""
    if what == "browser":
        ensure_packages(BROWSER)
        return 0
    if what == "usermode":
        ensure_usermode()
        return 0
    choice = choose(select(read_programs(), what))
    built = ensure_built(list(choice.programs))
    if what in ("cluster", "all"):
        ensure_packages(CLUSTER + IMAGE)
    if what in ("engine", "all") and choice.official_pulumi:
        print(f"engine: {choice.official_pulumi} (found on PATH)")
    print(f"{what}: {len(choice.programs) - built} already there, {built} built")
    return 0


def path_folder() -> str:
    """The folder with links to what is built; programs not built yet are simply absent from it."""
    return str(make_path_folder(choose(read_programs())))


def show() -> int:
    """One line per program."""
    programs = read_programs()
    choice = choose(programs)
    for program in programs:
        print(f"{program.name:28}{program.version:38}{program.group:13}{_state(program, choice)}")
    todo = [p for p in missing(list(choice.programs)) if p.group not in OPTIONAL]
    if todo:
        minutes = round(sum(p.cold_seconds for p in todo) / 60)
        print(f"to build: {len(todo)} programs, about {minutes} min on 2 cores with a cold build cache")
    return 0


def _state(program: Program, choice: Choice) -> str:
    if program not in choice.programs:
        return f"not needed: {choice.official_pulumi} is on PATH"
    if program.installed.exists():
        return str(program.installed)
    return "missing (built only when asked for)" if program.group in OPTIONAL else f"missing (about {program.cold_seconds} s)"
