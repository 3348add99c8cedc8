"""``gpufabric review``: exit codes, forms and packs, around a preview that did not run (tests/policy does)."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpufabric.cli import review as command
from gpufabric.cli.app import app
from gpufabric.policy import RULES
from gpufabric.review import Review, read_review
from tests.review.events import BUCKET, diagnostic, facts, said, step

runner = CliRunner()
BROKEN = [said("encrypted", "x")]
ADVICE = [said("ttl-and-owner", "x", level="advisory")]
LOST = [step("replace", BUCKET, "b", keys=["bucket"])]
UNREAD = [said("encrypted", "not checked: 1 resource: a (b)", level="advisory")]
Call = dict[str, Any]


def reviewed(events: list[Any], *options: str, patch: pytest.MonkeyPatch) -> tuple[int, str, Call]:
    """Exit code, output, and what the preview was asked for, its files read."""
    asked: Call = {}

    def previewed(stack: str, cwd: Path, packs: list[str], configs: list[str], seen: Path) -> Review:
        asked.update(stack=stack, packs=packs, configs=[json.loads(Path(each).read_text()) for each in configs])
        asked["programs"] = [Path(each, "__main__.py").read_text() for each in packs]
        return read_review(stack, events, facts(), facts())

    patch.setattr(command, "_previewed", previewed)
    patch.setattr("shutil.which", lambda name: name)
    done = runner.invoke(app, ["review", "--stack", "dev", *options])
    return done.exit_code, done.stdout, asked


@pytest.mark.parametrize(
    ("events", "options", "code"),
    [
        ([], [], 0),
        (BROKEN, [], 1),
        (BROKEN, ["--fail-on", "never"], 0),
        (ADVICE, [], 0),
        (ADVICE, ["--fail-on", "advisory"], 1),
        (LOST, [], 0),
        (LOST, ["--fail-on", "lost"], 1),
        (ADVICE, ["--fail-on", "lost", "--fail-on", "mandatory"], 0),
        (UNREAD, [], 0),
        (UNREAD, ["--most-unchecked", "0"], 1),
        (UNREAD, ["--most-unchecked", "1"], 0),
        ([diagnostic("error", "boom")], ["--fail-on", "never"], 2),
    ],
)
def test_the_exit_code_follows_the_threshold(
    events: list[Any], options: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reviewed(events, *options, patch=monkeypatch)[0] == code


def test_our_pack_runs_without_being_named_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, asked = reviewed([], patch=monkeypatch)
    (program,) = asked["programs"]
    assert "from gpufabric.policy.server import serve" in program
    assert asked["configs"][0]["nic-layout"] == {"enforcementLevel": "mandatory"}
    for name, text in (("ours", program), ("theirs", "print()")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__main__.py").write_text(text)
    packs = ["--policy-pack", str(tmp_path / "ours"), "--policy-pack", str(tmp_path / "theirs")]
    _, _, asked = reviewed([], *packs, "--preset", "dev", patch=monkeypatch)
    assert asked["packs"] == [str(tmp_path / "ours"), str(tmp_path / "theirs")]
    assert asked["configs"][0]["budget"] == {"enforcementLevel": "advisory", "most_gpus": 16, "most_usd_per_hour": 250}
    assert asked["configs"][0].keys() == {each.name for each in RULES}
    assert asked["configs"][1] == {}
    _, _, asked = reviewed([], "--policy-pack", str(tmp_path / "theirs"), patch=monkeypatch)
    assert len(asked["packs"]) == 2


@pytest.mark.parametrize(("form", "start"), [("markdown", "<!-- gpufabric-review"), ("json", "{"), ("html", "<!doctype html>")])
def test_three_forms_on_stdout_or_in_a_file(form: str, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report"
    assert reviewed(LOST, "--format", form, patch=monkeypatch)[1].startswith(start)
    code, out, _ = reviewed(LOST, "--format", form, "-o", str(file), patch=monkeypatch)
    assert (code, out) == (0, "")
    assert file.read_text("utf-8").startswith(start)


def test_what_cannot_be_asked_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    done = runner.invoke(app, ["review", "--stack", "dev"])
    assert (done.exit_code, done.stderr) == (2, "no program `pulumi` on PATH\n")
    done = runner.invoke(app, ["review", "--stack", "dev", "--preset", "test"])
    assert (done.exit_code, done.stderr) == (2, "--preset: 'test' is none of dev, prod\n")
