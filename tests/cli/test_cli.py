"""The command line: words on stdout, problems on stderr, exit codes that a script can trust."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gpufabric import __version__, preflight
from gpufabric.cli import console
from gpufabric.cli.app import app
from gpufabric.plan import StackPlan
from gpufabric.spec import Problem, SpecError
from tests.plan.aws.wishes import P5
from tests.plan.gcp.wishes import ULTRA
from tests.spec.specs import CPU, GONE, H100, changed
from tests.validation.printer import Line, Sheet


def call(*args: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of one call; an exception that is not a clean exit fails the test."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def stack(folder: Path, name: str, spec: object, **more: Any) -> Path:
    file = folder / f"Pulumi.{name}.yaml"
    file.write_text(yaml.safe_dump({"config": {"gpufabric:stack": spec, **more}}))
    return file


def test_check_says_ok_in_one_line_each(tmp_path: Path) -> None:
    one, other = stack(tmp_path, "a", CPU), stack(tmp_path, "b", H100)
    assert call("check", one, other) == (
        0,
        f"{one}: ok (train: 2 x cpu on ethernet)\n{other}: ok (train: 2 x H100:8 on infiniband)\n",
        "",
    )


def test_check_says_every_problem_of_every_file(tmp_path: Path) -> None:
    shape = stack(tmp_path, "shape", changed(H100, region="x", group__nodes="2"))
    good = stack(tmp_path, "good", CPU)
    meaning = stack(tmp_path, "meaning", changed(H100, group__fabric="ethernet", validation__image=GONE))
    missing = tmp_path / "Pulumi.missing.yaml"
    broken = tmp_path / "Pulumi.broken.yaml"
    broken.write_text("a: b: c")
    stray = stack(tmp_path, "stray", CPU, **{"gpufabric:key": 1})
    code, out, err = call("check", shape, good, meaning, missing, broken, stray)
    assert code == 1
    assert out == f"{good}: ok (train: 2 x cpu on ethernet)\n"
    assert err.splitlines() == [
        (
            f"{shape}: gpufabric:stack.region: does not apply to cloud: kubernetes "
            "(the cluster already stands somewhere); leave it out"
        ),
        (
            f"{shape}: gpufabric:stack.node_groups[0].nodes: expected a whole number, found '2'; "
            "write digits without quotes, such as 2"
        ),
        (
            f"{meaning}: gpufabric:stack.node_groups[0].network_tier: best (the default) asks for GPUDirect or RDMA; "
            "ethernet has none; name a fabric that has it (infiniband, infiniband-together), or write network_tier: standard"
        ),
        (
            f"{meaning}: gpufabric:stack.validation.image: missing: coordinator and judge run in it; "
            "name the gate's image (python3 -m tools.image howto says how to build one and load or push it)"
        ),
        f"{missing}: no such file; samples lie in stacks/",
        f"{broken}:1:5: malformed YAML: mapping values are not allowed here; check indentation, colons and quotes there",
        f"{stray}: config.gpufabric:key: unknown key; the only key of this project is gpufabric:stack",
    ]


def test_a_value_is_printed_as_it_is(tmp_path: Path) -> None:
    """Neither [bold] nor :smile: nor [/x] nor a line break changes what is printed."""
    odd = changed(H100, group__fabric="[bold]:smile:[/x]\n", group__accelerators="H100:8")
    code, out, err = call("check", stack(tmp_path, "odd", odd))
    assert (code, out) == (1, "")
    assert "unknown fabric '[bold]:smile:[/x]\\n'; known:" in err
    assert len(err.splitlines()) == 1


def test_a_long_problem_stays_on_one_line(tmp_path: Path) -> None:
    """Whoever greps or jumps to a line must not meet a wrapped one."""
    _, _, err = call("check", stack(tmp_path, "x" * 60, changed(H100, group__fabric="infinband")))
    assert len(err.splitlines()) == 1
    assert len(err) > 200


@pytest.mark.parametrize("command", ["explain", "preflight", "check"])
def test_a_bad_file_ends_every_command_alike(tmp_path: Path, command: str) -> None:
    file = stack(tmp_path, "bad", {})
    assert call(command, file) == (1, "", f"{file}: gpufabric:stack.cloud: missing; write kubernetes, aws or gcp\n")


@pytest.mark.parametrize("command", ["check", "explain", "preflight"])
def test_a_command_without_file_is_a_usage_error(command: str) -> None:
    code, out, err = call(command)
    assert (code, out) == (2, "")
    assert "Missing argument" in err


def test_explain_says_what_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.out, "width", 400)  # no cell is broken over lines
    code, out, err = call("explain", stack(tmp_path, "a", H100))
    assert (code, err) == (0, "")
    words = " ".join(out.replace("│", " ").replace("┃", " ").split())
    for text in (
        "train: 2 nodes of H100:8 on infiniband",
        "nvidia.com/gpu: 8, rdma/ib: 1",
        "floor 300 GB/s bus bandwidth",
        "transport",
        "gpufabric-a-train",
    ):
        assert text in words


def test_explain_prints_values_as_they_are(tmp_path: Path) -> None:
    """In a table too: [/x] was a markup error, [IB] was gone."""
    profile = {"hcas": ["mlx5"], "environment": {"NCCL_X": "[IB][/x]:smile:"}}
    spec = changed(H100, group__fabric=GONE, group__profile=profile, validation__floor_gbytes_per_s=1)
    code, out, _ = call("explain", stack(tmp_path, "a", spec))
    assert code == 0
    assert "[IB][/x]:smile:" in out.replace("│", "").replace("\n", "").replace(" ", "")


def test_preflight_is_silent_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[StackPlan] = []
    monkeypatch.setattr(preflight, "preflight_kubernetes", looked_at.append)
    file = stack(tmp_path, "a", CPU)
    assert call("preflight", file) == (0, f"{file}: the cluster has what it needs\n", "")
    assert [plan.stack for plan in looked_at] == ["a"]


@pytest.mark.parametrize(("cloud", "raw", "where"), [("aws", P5, "account"), ("gcp", ULTRA, "project")])
def test_preflight_asks_the_cloud_of_the_stack(
    cloud: str, raw: dict[str, Any], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Any] = []
    monkeypatch.setattr(f"gpufabric.preflight.{cloud}.preflight_{cloud}", looked_at.append)
    file = stack(tmp_path, "a", raw)
    assert call("preflight", file) == (0, f"{file}: the {where} has what it needs\n", "")
    assert [plan.cloud for plan in looked_at] == [cloud]


def test_preflight_says_what_the_cluster_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_: StackPlan) -> None:
        raise SpecError([Problem("cluster.existing", "gone", "bring it back"), Problem("node_groups[0]", "no GPU")])

    monkeypatch.setattr(preflight, "preflight_kubernetes", lacking)
    file = stack(tmp_path, "a", CPU)
    lines = f"{file}: gpufabric:stack.cluster.existing: gone; bring it back\n{file}: gpufabric:stack.node_groups[0]: no GPU\n"
    assert call("preflight", file) == (1, "", lines)


def test_the_version() -> None:
    assert call("--version") == (0, f"{__version__}\n", "")


def test_no_command_prints_the_help() -> None:
    code, out, err = call()
    assert code in (0, 2)
    assert all(command in out + err for command in ("check", "explain", "preflight", "nccl"))


def test_an_unknown_command_is_a_usage_error() -> None:
    code, _, err = call("chekc")
    assert code == 2
    assert "No such command" in err


def test_the_installed_program_runs_without_a_traceback(tmp_path: Path) -> None:
    program = [str(Path(sys.executable).parent / "gpufabric")]
    bad = stack(tmp_path, "bad", {"cloud": "azure"})
    ran = subprocess.run([*program, "check", str(bad)], capture_output=True, text=True, check=False)
    says = "cloud: azure is not built yet; a cluster that exists there can be used today with cloud: kubernetes"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"{bad}: gpufabric:stack.{says}\n")


# --- nccl parse ---

HEALTHY = Sheet(rows=[Line(1 << 20, 100.0, ranks=16), Line(8 << 30, 40_000.0, ranks=16)], ranks=16)  # 402.7 GB/s


def parse(tmp_path: Path, text: str, *options: str) -> tuple[int, str, str]:
    file = tmp_path / "log"
    file.write_text(text)
    return call("nccl", "parse", file, "--ranks", "16", *options)


def test_a_run_that_passes(tmp_path: Path) -> None:
    code, out, err = parse(tmp_path, HEALTHY.text(), "--floor", "300")
    assert (code, out, err) == (0, "pass: busbw 402.7 GB/s at 8 GiB, at least 300 GB/s\n", "")


def test_a_run_that_fails(tmp_path: Path) -> None:
    code, out, err = parse(tmp_path, HEALTHY.text(), "--floor", "500")
    assert (code, out, err) == (1, "fail: busbw 402.7 GB/s at 8 GiB is below the floor of 500 GB/s\n", "")


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", (), "unknown: no rows in the output\n"),
        ("mpirun: command not found\n", (), "unknown: no rows in the output\n"),
        (HEALTHY.text(), ("--size", "16G"), "unknown: the largest size 16 GiB is not in the table\n"),
        (HEALTHY.text(), ("--collective", "all_gather"), "unknown: the output is of all_reduce, not of all_gather\n"),
        (HEALTHY.text().partition("# Out of bounds")[0], (), "unknown: no footer: the output is cut off\n"),
    ],
    ids=["empty", "no benchmark", "another size", "another collective", "cut off"],
)
def test_a_run_that_says_nothing_certain(tmp_path: Path, text: str, options: tuple[str, ...], says: str) -> None:
    code, out, err = parse(tmp_path, text, "--floor", "300", *options)
    assert (code, out, err) == (2, says, "")


def test_a_transport_that_must_show(tmp_path: Path) -> None:
    log = "n0:1:2 [0] NCCL INFO Using network Socket\n" + HEALTHY.text()
    code, out, _ = parse(tmp_path, log, "--floor", "300", "--transport", "Using network IB")
    assert code == 1
    assert out.startswith("fail: wrong transport: ")
    assert parse(tmp_path, log, "--floor", "300", "--transport", "Using network Socket")[0] == 0
    assert parse(tmp_path, HEALTHY.text(), "--floor", "300", "--transport", "Using network IB")[0] == 2


def test_the_verdict_as_json(tmp_path: Path) -> None:
    code, out, _ = parse(tmp_path, HEALTHY.text(), "--floor", "300", "--json")
    verdict = json.loads(out)
    assert (code, verdict["outcome"], verdict["size_bytes"]) == (0, "pass", 8 << 30)
    assert verdict["busbw_gbytes_per_s"] == pytest.approx(402.65, abs=0.01)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--floor", "300", "--size", "8GB"), "--size: '8GB' is not a message size; write for example 8G\n"),
        (
            ("--floor", "300", "--transport", "("),
            "--transport: not a regular expression: missing ), unterminated subpattern at position 0\n",
        ),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    assert parse(tmp_path, HEALTHY.text(), *options) == (2, "", says)


@pytest.mark.parametrize(
    "options", [(), ("--floor", "-1"), ("--floor", "fast"), ("--floor", "nan"), ("--floor", "inf"), ("--floor", "0")], ids=str
)
def test_a_floor_that_is_none(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, out, err = parse(tmp_path, HEALTHY.text(), *options)
    assert (code, out) == (2, "")
    assert "--floor" in err


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "none"
    found = call("nccl", "parse", file, "--ranks", "2", "--floor", "1")
    assert found == (2, "", f"{file}: No such file or directory\n")


def test_a_binary_log_is_no_run(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(bytes(range(256)) * 10)
    assert call("nccl", "parse", file, "--ranks", "2", "--floor", "1") == (2, "unknown: no rows in the output\n", "")
