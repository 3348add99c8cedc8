"""``gpufabric review``: a preview with the policy pack, as one report for a pull request."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpufabric import __version__
from gpufabric.cli.console import err
from gpufabric.policy.facts import facts_of
from gpufabric.policy.presets import PRESETS, preset
from gpufabric.policy.state import stack_of_state
from gpufabric.review import Review, as_json, markdown, page, read_review

_OURS: Final = "gpufabric.policy"
_MAIN: Final = "from gpufabric.policy import PACK, RULES\nfrom gpufabric.policy.server import serve\n\nserve(PACK, RULES)\n"


class Format(StrEnum):
    """How the report is written."""

    markdown = "markdown"
    json = "json"
    html = "html"


class FailOn(StrEnum):
    """What makes the exit code 1."""

    never = "never"
    mandatory = "mandatory"
    advisory = "advisory"
    lost = "lost"


def review(
    stack: Annotated[str, typer.Option(help="The Pulumi stack", show_default=False)],
    cwd: Annotated[Path, typer.Option(help="Folder of the Pulumi project")] = Path(),
    policy_pack: Annotated[list[Path] | None, typer.Option(help="A further policy pack; may be repeated")] = None,
    policy_pack_config: Annotated[
        Path | None, typer.Option(help="Configuration of gpufabric's rules, JSON (docs/policies.md)")
    ] = None,
    preset_name: Annotated[str, typer.Option("--preset", help="Levels of gpufabric's rules: prod or dev")] = "prod",
    format_: Annotated[Format, typer.Option("--format", help="Form of the report")] = Format.markdown,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; else stdout")] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(help="mandatory, advisory, lost (GPU nodes, file systems, buckets), never; may be repeated"),
    ] = None,
    most_unchecked: Annotated[
        int | None, typer.Option(help="Fail where more rules than this could not be checked", min=0)
    ] = None,
) -> None:
    """Preview a stack with the policy pack and write one report: changes, losses, GPUs, cost, rules, fabric.

    Exit 0; 1 where the threshold is crossed (a mandatory rule is broken, if nothing else is asked for); 2 where the preview
    itself failed. Nothing is changed. Progress goes to stderr.
    """
    if preset_name not in PRESETS:
        err.print(f"--preset: {preset_name!r} is none of {', '.join(PRESETS)}")
        raise typer.Exit(2)
    if shutil.which("pulumi") is None:
        err.print("no program `pulumi` on PATH")
        raise typer.Exit(2)
    with tempfile.TemporaryDirectory(prefix="gpufabric-review-") as folder:
        packs, configs = _packs(Path(folder), policy_pack or [], policy_pack_config, preset_name)
        found = _previewed(stack, cwd, packs, configs, Path(folder, "facts.json"))
    text = _written(found, format_)
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")
    raise typer.Exit(_exit_code(found, set(fail_on or [FailOn.mandatory]), most_unchecked))


def _written(found: Review, form: Format) -> str:
    if form is Format.html:
        return page(found, version=__version__)
    return as_json(found) if form is Format.json else markdown(found)


def _exit_code(found: Review, fail_on: set[FailOn], most_unchecked: int | None) -> int:
    if found.failed:
        return 2
    levels = {each.level for each in found.violations}
    crossed = (
        (bool(fail_on & {FailOn.mandatory, FailOn.advisory}) and "mandatory" in levels)
        or (FailOn.advisory in fail_on and bool(levels))
        or (FailOn.lost in fail_on and bool(found.lost))
        or (most_unchecked is not None and len(found.not_checked) > most_unchecked)
    )
    return 1 if crossed else 0


def _packs(folder: Path, given: list[Path], config: Path | None, preset_name: str) -> tuple[list[str], list[str]]:
    """Folders of the packs and their configurations. Ours is written here, unless it is among those that are given."""
    configured = folder / "config.json"
    configured.write_text(
        config.read_text("utf-8") if config else preset("dev" if preset_name == "dev" else "prod"), encoding="utf-8"
    )
    nothing = folder / "none.json"
    nothing.write_text("{}", encoding="utf-8")
    ours = [each for each in given if _OURS in _program(each)]
    if not ours:
        made = folder / "pack"
        made.mkdir()
        (made / "__main__.py").write_text(_MAIN, encoding="utf-8")
        settings = {"runtime": {"name": "python", "options": {"virtualenv": sys.prefix}}, "version": __version__}
        (made / "PulumiPolicy.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        given, ours = [made, *given], [made]
    return [str(each.resolve()) for each in given], [str(configured if each in ours else nothing) for each in given]


def _program(pack: Path) -> str:
    try:
        return (pack / "__main__.py").read_text("utf-8")
    except OSError:
        return ""


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """For the programs that are started meanwhile."""
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key)
            else:
                os.environ[key] = value


def _previewed(stack: str, cwd: Path, packs: list[str], configs: list[str], facts: Path) -> Review:
    """Run the preview; what stops it is part of the report."""
    from pulumi import automation  # half a second, and only here

    from gpufabric.policy.server import FACTS

    events: list[Mapping[str, Any]] = []
    problem = ""
    try:
        with _environment(**{FACTS: str(facts), "PULUMI_SKIP_UPDATE_CHECK": "true"}):
            selected = automation.select_stack(stack_name=stack, work_dir=str(cwd))
            before = facts_of(stack_of_state(selected.export_stack().deployment or {}))
            try:
                selected.preview(
                    policy_packs=packs,
                    policy_pack_configs=configs,
                    on_event=lambda event: events.append(_plain(event)),
                    on_output=lambda line: print(line, file=sys.stderr),
                    color="never",
                )
            except automation.CommandError as error:
                problem = str(error)
    except automation.CommandError as error:
        err.print(f"{stack}: {_last_words(str(error))}")
        raise typer.Exit(2) from None
    after = json.loads(facts.read_text("utf-8")) if facts.exists() else None
    found = read_review(stack, events, before, after)
    if problem and not found.failed and not any(each.level == "mandatory" for each in found.violations):
        from dataclasses import replace

        return replace(found, failed=_last_words(problem))
    return found


def _last_words(text: str) -> str:
    """The line of pulumi's own output that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "pulumi failed")


def _plain(value: Any) -> Any:
    """The SDK's event objects as mappings."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _plain(vars(value)) if hasattr(value, "__dict__") else value
