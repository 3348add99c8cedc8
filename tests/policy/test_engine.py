"""The pack on the real engine: what it says of programs that are wrong, in which words, and that the preview then fails."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpufabric.policy import RULES
from tests.engine.stack import EngineStack, made_stack
from tools.folders import REPOSITORY

pytestmark = pytest.mark.engine

PACK = str(REPOSITORY / "policies")
HERE = Path(__file__).parent
SAID = re.compile(r"- \[(\w+)\] \[severity: \w+\]  ([\w-]+)  \([\w:./-]+: ([\w-]+)\)")

Finding = tuple[str, str, str, str]
"""Level, rule, resource, text."""


def findings(log: str) -> list[Finding]:
    """The section `Policies:` of a preview, sorted."""
    found: list[Finding] = []
    for line in log.partition("\nPolicies:\n")[2].partition("\nDiagnostics:\n")[0].splitlines():
        if head := SAID.search(line):
            found.append((head[1], head[2], head[3], ""))
        elif found and line.strip() and not line.lstrip().startswith("To fix: "):
            level, rule, name, text = found[-1]
            found[-1] = (level, rule, name, f"{text}\n{line.strip()}".strip())
    return sorted(found)


@contextmanager
def stack(program: Path, folder: Path, *providers: str) -> Iterator[EngineStack]:
    with made_stack(program.name.replace("_", "-"), folder, program, *providers) as made:
        made.write({"aws:region": "us-east-2"})
        yield made


def test_each_mistake_is_found_in_these_words_and_the_preview_fails(tmp_path: Path) -> None:
    """said.txt lists every mistake of the program; written anew with GPUFABRIC_REGOLD=1, to be read line by line."""
    with stack(HERE / "bad", tmp_path, "aws", "kubernetes") as bad:
        done = bad.run("preview", "--policy-pack", PACK)
    text = "".join(f"{' | '.join(each)}\n" for each in findings(done.stdout))
    golden = HERE / "said.txt"
    if "GPUFABRIC_REGOLD" in os.environ:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text("utf-8"), done.stdout
    assert done.returncode != 0
    found = {rule for level, rule, _, _ in findings(done.stdout) if level == "mandatory"}
    seen_elsewhere = {"capacity-block-protected", "checkpoint-can-rename", "budget", "health-agent-present"}  # in the fixtures
    assert found | seen_elsewhere == {each.name for each in RULES if each.prod == "mandatory"}
