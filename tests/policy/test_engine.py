"""The pack on the real engine: what it says of programs that are wrong, in which words, and that the preview then fails."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpufabric.hardware.prices import find_price
from gpufabric.policy import RULES
from gpufabric.policy.rules import TOPICS
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


def same_as_said(name: str, log: str) -> None:
    """The golden file lists every mistake of a program; written anew with GPUFABRIC_REGOLD=1, to be read line by line."""
    text = "".join(f"{' | '.join(each)}\n" for each in findings(log))
    golden = HERE / f"{name}.said.txt"
    if "GPUFABRIC_REGOLD" in os.environ:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text("utf-8"), log


def mandatory(log: str) -> set[str]:
    return {rule for level, rule, _, _ in findings(log) if level == "mandatory"}


def test_each_mistake_on_aws_and_kubernetes_is_found_and_the_preview_fails(tmp_path: Path) -> None:
    with stack(HERE / "bad", tmp_path, "aws", "kubernetes") as bad:
        config = tmp_path / "config.json"
        tags = {"enforcementLevel": "remediate", "values": {"owner": "tests", "ttl": "2027-01-01"}}
        config.write_text(json.dumps({"ttl-and-owner": tags}), encoding="utf-8")
        done = bad.run("preview", "--policy-pack", PACK, "--policy-pack-config", str(config))
    same_as_said("bad", done.stdout)
    assert not [each for each in findings(done.stdout) if each[1] == "ttl-and-owner"], "the tags were added"
    assert done.returncode != 0
    in_the_fixtures = {"capacity-block-protected", "checkpoint-can-rename", "budget", "health-agent-present"}
    of_google = {each.name for each in TOPICS["Google Kubernetes Engine"]}
    assert mandatory(done.stdout) | in_the_fixtures == {each.name for each in RULES if each.prod == "mandatory"} - of_google


def test_each_mistake_on_google_cloud_is_found_and_the_preview_fails(tmp_path: Path) -> None:
    with stack(HERE / "bad_gcp", tmp_path, "gcp") as bad:
        bad.write({"gcp:project": "acme", "gcp:region": "us-east4"})
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"budget": {"most_gpus": 16}, "metrics-present": "disabled"}), encoding="utf-8")
        done = bad.run("preview", "--policy-pack", PACK, "--policy-pack-config", str(config))
    same_as_said("bad_gcp", done.stdout)
    assert "mandatory | budget | gpufabric-bad-gcp | 32 GPUs; at most 16" in (HERE / "bad_gcp.said.txt").read_text("utf-8")
    assert "metrics-present" not in done.stdout
    assert done.returncode != 0
    assert mandatory(done.stdout) >= {each.name for each in TOPICS["Google Kubernetes Engine"]}


def cents(usd: float) -> Any:
    """Each group's price is rounded before they are added."""
    return pytest.approx(usd, abs=0.03)


def test_a_review_of_a_pull_request_says_what_is_lost_drained_and_paid(tmp_path: Path) -> None:
    """The command itself, over the local backend: what a change of `reviewed` would do to what is there."""
    with stack(HERE / "reviewed", tmp_path, "aws") as reviewed:
        reviewed.write({"aws:region": "us-east-2", "reviewed:step": 1})
        assert reviewed.succeed("up") == {"created": 15}
        reviewed.write({"aws:region": "us-east-2", "reviewed:step": 2})
        calls = [reviewed.cloud.calls(each) for each in ("create", "update", "delete")]
        report = tmp_path / "report.json"
        command = [str(Path(sys.prefix, "bin", "gpufabric")), "review", "--stack", reviewed.name, "--format", "json"]
        done = subprocess.run(
            [*command, "--cwd", str(reviewed.engine.project), "-o", str(report)],
            env=reviewed.engine.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert [reviewed.cloud.calls(each) for each in ("create", "update", "delete")] == calls, "a review changes nothing"
    assert done.returncode == 1, done.stderr
    assert (done.stdout, "Policies:" in done.stderr) == ("", True)
    found = json.loads(report.read_text("utf-8"))
    assert found["failed"] == ""
    assert found["counts"] == {"replaced": 2, "deleted": 2, "updated": 4, "created": 2}
    lost = {(each["op"], each["precious"], each["name"], *each["because"]) for each in found["changes"] if each["precious"]}
    assert lost == {
        ("replaced", "GPU nodes", "renamed", "nodeGroupName"),
        ("replaced", "bucket", "weights", "bucket"),
        ("deleted", "GPU nodes", "removed"),
        ("updated", "GPU nodes", "rolled", "launchTemplate"),
        ("updated", "GPU nodes", "shrunk", "scalingConfig"),
        ("updated", "file system", "data", "dataCompressionType", "perUnitStorageThroughput"),
        ("created", "GPU nodes", "added"),
    }
    assert {(each["group"], each["nodes"]) for each in found["drains"]} == {
        ("renamed", 2),
        ("removed", 1),
        ("rolled", 2),
        ("shrunk", 2),
    }
    assert found["gpus"] == {"before": 8 * 8, "after": 7 * 8}
    price = {name: find_price("aws", name, "us-east-2") for name in ("p5.48xlarge", "p5en.48xlarge", "p4d.24xlarge")}
    usd = {name: row.on_demand_usd_per_hour or 0 for name, row in price.items() if row}
    before = 5 * usd["p5.48xlarge"] + 3 * usd["p4d.24xlarge"]
    after = 2 * usd["p5en.48xlarge"] + 2 * usd["p4d.24xlarge"] + 3 * usd["p5.48xlarge"]
    assert found["usd_per_hour"] == {"before": cents(before), "after": cents(after), "no_price": []}
    fabrics = {each["name"]: each["after"]["fabric"] for each in found["groups"] if each["after"]}
    assert fabrics["rolled"] == "none: ordinary Ethernet; 16 x efa-v3 unused"
    assert {each["rule"] for each in found["results"] if each["level"] == "mandatory"} >= {"fabric-tier-honest", "encrypted"}
    assert found["not_checked"] == 1
