"""The rank container's entry, in a real POSIX shell against fake programs: what it starts, what it leaves, each way to fail."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gpufabric.validation import contract
from tests.validation.programs import SHELL, Programs

FOLDER = Path(__file__).parents[2] / "components/gpufabric/validation"
SCRIPT = FOLDER / "rank.sh"
TOOLS = ("date", "sleep", "mkdir", "rm", "cp", "mv", "cat", "tail", "cut", "sed", "env", "timeout", "touch")

FAKES = {
    "ssh-keygen": 'while [ "$1" != -f ]; do shift; done; echo private >"$2"; echo "ssh-ed25519 AAAA fake" >"$2.pub"',
    "sshd": 'echo "$*" >"$GATE_ROOT/sshd.args"; exec sleep 30',
    "ssh": 'echo "$*" >>"$GATE_ROOT/ssh.args"',
    "mpirun": 'echo "$*" >"$GATE_ROOT/mpirun.args"; echo "# a row"; echo "# on stderr" >&2',
    "python3": "exit 0",
}


class Pod:
    """A gate folder, a PATH of fakes, and the script running in it."""

    def __init__(self, root: Path, index: int = 0, **changes: str) -> None:
        self.root, self.shared = root, root / "shared"
        for folder in (self.shared, root / "key"):
            folder.mkdir(parents=True)
        self.programs = Programs(root / "bin")
        self.programs.link(*TOOLS)
        for name, text in FAKES.items():
            self.programs.fake(name, text)
        self.environment = {
            "PATH": str(self.programs.folder),
            "GATE_ROOT": str(root),
            "GATE_TERMINATION_LOG": str(root / "message"),
            "JOB_COMPLETION_INDEX": str(index),
            "GATE_NODES": "2",
            "GATE_RANKS_PER_NODE": "1",
            "GATE_HOST_PREFIX": "train-ranks",
            "GATE_SERVICE": "train-ranks",
            "GATE_START_SECONDS": "1",
            "GATE_BENCHMARK_SECONDS": "5",
            "GATE_MIN_BYTES": "1024",
            "GATE_MAX_BYTES": "4096",
            "GATE_FACTOR": "4",
            "GATE_INTERFACE": "eth0",
            "PYTHONPATH": "/gate/lib",
            **changes,
        }
        # the script adds the usual sbin folders; a machine's real sshd must not be found there
        text = SCRIPT.read_text().replace(":/usr/local/sbin:/usr/sbin:/sbin", "")
        assert text != SCRIPT.read_text()
        (root / "rank.sh").write_text(text)
        for part in ("rank_ssh.sh", "rank_torch.sh", "gpus.sh", "load.sh"):
            shutil.copy(FOLDER / part, root)
        self.process: subprocess.Popen[str] | None = None

    def authorize(self) -> None:
        (self.shared / "authorized_keys").write_text("key\n")

    def start(self) -> "subprocess.Popen[str]":
        self.process = subprocess.Popen(
            [SHELL, str(self.root / "rank.sh")],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self.process

    def run(self) -> int:
        process = self.start()
        self.output, _ = process.communicate(timeout=60)
        return process.returncode

    def end(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def text(self, name: str) -> str:
        file = self.root / name
        return file.read_text().strip() if file.exists() else ""


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path / "pod")
    yield made
    made.end()


@pytest.mark.parametrize("name", ["rank.sh", "rank_ssh.sh", "rank_torch.sh"])
def test_the_script_is_posix(name: str) -> None:
    script = FOLDER / name
    subprocess.run([SHELL, "-n", str(script)], check=True)
    checker = shutil.which("shellcheck")
    if checker:
        subprocess.run([checker, "-s", "sh", str(script)], check=True)
    assert not [line for line in script.read_text().splitlines() if "[[" in line or line.startswith("function ")]


def test_rank_0_runs_the_benchmark(pod: Pod) -> None:
    pod.authorize()
    pod.environment["NCCL_DEBUG"] = "INFO"
    pod.environment["LD_LIBRARY_PATH"] = "/opt/nccl/lib"
    pod.environment["GATE_FORWARD"] = "NCCL_DEBUG NOT_SET bad-name"
    assert pod.run() == 0, pod.output
    assert pod.text("shared/exit-code") == "0"
    assert pod.text("shared/output") == "# a row\n# on stderr"
    assert pod.text("shared/id.pub") == "ssh-ed25519 AAAA fake"
    assert pod.text("shared/error") == ""
    arguments = pod.text("mpirun.args")
    for part in (
        "--allow-run-as-root -np 2 --host train-ranks-0.train-ranks:1,train-ranks-1.train-ranks:1 --bind-to none",
        "--mca orte_keep_fqdn_hostnames 1",
        "--mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1",
        "-x NCCL_DEBUG",
        "-x PYTHONPATH",
        "-x PATH",
        "-x LD_LIBRARY_PATH",
        "-x GATE_NODES",
        "python3 -m gpufabric.validation.mpi_allreduce -b 1024 -e 4096 -f 4",
    ):
        assert part in arguments
    assert "NOT_SET" not in arguments
    assert "bad-name" not in arguments.replace("NCCL_DEBUG NOT_SET", "")
    assert f"-i {pod.root}/key/id" in arguments
    assert "private" in pod.text("key/id")
    assert "-p 2222" in pod.text("sshd.args")
    assert f"AuthorizedKeysFile={pod.root}/shared/authorized_keys" in pod.text("sshd.args")
    assert "PasswordAuthentication=no" in pod.text("sshd.args")
    assert len(pod.text("ssh.args").splitlines()) == 2


def test_what_a_vendors_script_has_set_reaches_every_rank_once(pod: Pod) -> None:
    """mpirun refuses a name that it is given twice; without a script the image's own settings stay where they are."""
    pod.authorize()
    pod.environment |= {"NCCL_NET": "gIB", "NCCL_TUNER_CONFIG_PATH": "/gib/tuner", "CUDA_VISIBLE_DEVICES": "0", "OTHER": "x"}
    pod.environment["GATE_FORWARD"] = "NCCL_NET"
    pod.environment[contract.ENV_SCRIPT] = "/usr/local/gib/scripts/set_nccl_env.sh"
    assert pod.run() == 0, pod.output
    words = pod.text("mpirun.args").split()
    given = [word for before, word in pairwise(words) if before == "-x"]
    assert {"NCCL_NET", "NCCL_TUNER_CONFIG_PATH", "CUDA_VISIBLE_DEVICES"} <= set(given)
    assert len(given) == len(set(given))
    assert "OTHER" not in given


def test_a_vendors_script_does_not_silence_what_proves_the_transport(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= {"NCCL_DEBUG": "WARN", "GATE_FORWARD": "NCCL_DEBUG", contract.ENV_SCRIPT: "/usr/local/gib/env.sh"}
    pod.programs.fake("mpirun", 'echo "# NCCL_DEBUG is $NCCL_DEBUG"')
    assert pod.run() == 0, pod.output
    assert pod.text("shared/output") == "# NCCL_DEBUG is INFO"


def test_without_a_vendors_script_only_what_is_named_is_handed_on(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= {"NCCL_NET": "gIB", "NCCL_TUNER_CONFIG_PATH": "/gib/tuner", "GATE_FORWARD": "NCCL_NET"}
    assert pod.run() == 0, pod.output
    assert "-x NCCL_NET" in pod.text("mpirun.args")
    assert "NCCL_TUNER_CONFIG_PATH" not in pod.text("mpirun.args")


def test_another_benchmark(pod: Pod) -> None:
    pod.authorize()
    pod.environment["GATE_BENCHMARK"] = "touch -b 8 *"
    pod.environment["GATE_RANKS_PER_NODE"] = "8"
    assert pod.run() == 0, pod.output
    assert pod.text("mpirun.args").endswith("touch -b 8 *")
    assert "-np 16 --host train-ranks-0.train-ranks:8," in pod.text("mpirun.args")


# --- a second benchmark after the first ---

ALSO = {"GATE_BENCHMARK": "touch -b 8", "GATE_ALSO": "env -b 16 *"}


def test_the_second_benchmark_runs_after_the_first(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= ALSO
    pod.programs.fake("mpirun", 'echo "$*" >>"$GATE_ROOT/mpirun.args"; echo "# a row"')
    assert pod.run() == 0, pod.output
    first, second = pod.text("mpirun.args").splitlines()
    assert first.endswith(" touch -b 8")
    assert second.endswith(" env -b 16 *")
    assert first.removesuffix("touch -b 8") == second.removesuffix("env -b 16 *"), "the same ranks in the same way"
    assert pod.text("shared/output") == f"# a row\n\n{contract.ALSO_MARKER}\n# a row"
    assert pod.text("shared/exit-code") == "0"


def test_no_second_benchmark_after_a_first_that_failed(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= ALSO
    pod.programs.fake("mpirun", 'echo "$*" >>"$GATE_ROOT/mpirun.args"; echo half; exit 7')
    assert pod.run() == 7
    assert len(pod.text("mpirun.args").splitlines()) == 1
    assert pod.text("shared/output") == "half"


def test_the_exit_code_is_that_of_the_second(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= ALSO
    pod.programs.fake("mpirun", 'case "$*" in *" env "*) exit 9 ;; esac')
    assert pod.run() == 9
    assert pod.text("shared/output") == contract.ALSO_MARKER
    assert pod.text("shared/exit-code") == "9"


def test_the_second_has_what_the_first_left_of_the_time(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= {**ALSO, "GATE_BENCHMARK_SECONDS": "4"}
    pod.programs.fake("mpirun", 'case "$*" in *" env "*) exec sleep 30 ;; *) exec sleep 2 ;; esac')
    begun = time.monotonic()
    assert pod.run() == 124
    assert time.monotonic() - begun < 5.5, "both share one clock"
    assert "did not end within 4 s and was stopped" in pod.text("shared/error")
    assert pod.text("shared/output") == contract.ALSO_MARKER


def test_a_second_benchmark_that_is_missing_is_said_before_the_first(pod: Pod) -> None:
    pod.authorize()
    pod.environment |= {**ALSO, "GATE_ALSO": "/opt/all_gather_perf -b 8"}
    assert pod.run() == 70
    failed(pod, 70, "the image has no /opt/all_gather_perf (the second benchmark)")
    assert pod.text("mpirun.args") == ""


@pytest.mark.parametrize(("script", "code"), [("echo half; exit 7", 7), ("kill -9 $$", 137)])
def test_the_benchmarks_exit_code_is_kept(pod: Pod, script: str, code: int) -> None:
    pod.authorize()
    pod.programs.fake("mpirun", script)
    assert pod.run() == code
    assert pod.text("shared/exit-code") == str(code)
    assert pod.text("message") == f"the benchmark ended with exit code {code}"
    assert pod.text("shared/error").strip() == "", "137 long before the deadline is a rank that was killed"


@pytest.mark.parametrize("end", ["exec sleep 30", "trap '' TERM; sleep 2; kill -9 $$"], ids=["ends by TERM", "ends by KILL"])
def test_a_benchmark_that_hangs_is_stopped(pod: Pod, end: str) -> None:
    pod.authorize()
    pod.programs.fake("mpirun", f"echo begun; {end}")
    pod.environment["GATE_BENCHMARK_SECONDS"] = "1"
    assert pod.run() == 124
    assert "did not end within 1 s and was stopped" in pod.text("shared/error")
    assert pod.text("shared/exit-code") == "124"
    assert pod.text("shared/output") == "begun"


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("mpirun", "the image has no mpirun (Open MPI)"),
        ("sshd", "the image has no sshd (package openssh-server)"),
        ("ssh-keygen", "the image has no ssh-keygen"),
        ("ssh", "the image has no ssh (package openssh-client)"),
        ("timeout", "the image has no timeout"),
        ("python3", "the image has no python3 (the benchmark)"),
    ],
)
def test_missing_programs(pod: Pod, missing: str, says: str) -> None:
    pod.authorize()
    (pod.programs.folder / missing).unlink()
    assert pod.run() == 70
    failed(pod, 70, says)


def failed(pod: Pod, code: int, says: str) -> None:
    """Every early failure leaves one line in two places, and the exit code for the judge."""
    assert says in pod.text("shared/error")
    assert "\n" not in pod.text("shared/error")
    assert pod.text("message") == pod.text("shared/error")
    assert pod.text("shared/exit-code") == str(code)
    assert pod.text("shared/output") == ""


def test_keys_that_cannot_be_made(pod: Pod) -> None:
    pod.programs.fake("ssh-keygen", "echo no entropy; exit 1")
    assert pod.run() == 71
    failed(pod, 71, "ssh-keygen failed: no entropy")


def test_no_key_from_rank_0(tmp_path: Path) -> None:
    pod = Pod(tmp_path / "pod", index=1)
    assert pod.run() == 71
    assert "the public key of rank 0 did not come within 1 s" in pod.text("shared/error")
    assert pod.text("shared/exit-code") == ""


def test_an_unreachable_peer_is_named_with_the_last_error(pod: Pod) -> None:
    pod.authorize()
    pod.programs.fake("ssh", 'case "$*" in *ranks-1*) echo "Could not resolve hostname"; exit 255 ;; esac')
    assert pod.run() == 72
    failed(pod, 72, "peer 1 (train-ranks-1.train-ranks) is unreachable after 1 s: Could not resolve hostname")


def test_a_slow_peer_is_waited_for(pod: Pod) -> None:
    pod.authorize()
    pod.environment["GATE_START_SECONDS"] = "9"
    pod.programs.fake("ssh", 'case "$*" in *ranks-1*) [ -e "$GATE_ROOT/up" ] || { touch "$GATE_ROOT/up"; exit 255; } ;; esac')
    assert pod.run() == 0, pod.output


def test_sshd_that_ends(pod: Pod) -> None:
    pod.programs.fake("sshd", "echo port in use >&2; exit 255")
    assert pod.run() == 73
    failed(pod, 73, "sshd ended with code 255: port in use")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("GATE_NODES", "", "GATE_NODES is not set"),
        ("GATE_NODES", "two", "GATE_NODES is 'two', not a whole number above 0"),
        ("GATE_BENCHMARK_SECONDS", "0", "GATE_BENCHMARK_SECONDS is '0'"),
        ("JOB_COMPLETION_INDEX", "", "this is no pod of an Indexed Job"),
    ],
)
def test_bad_environment(pod: Pod, name: str, value: str, says: str) -> None:
    pod.environment[name] = value
    assert pod.run() == 74
    assert says in pod.text("shared/error")


@pytest.mark.parametrize(("index", "code"), [(1, 0), (0, 143)])
def test_term(tmp_path: Path, index: int, code: int) -> None:
    """A worker's service ends with 0 when the Job is done; rank 0 was not done."""
    pod = Pod(tmp_path / "pod", index=index)
    pod.authorize()
    pod.programs.fake("mpirun", 'touch "$GATE_ROOT/begun"; exec sleep 30')
    process = pod.start()
    try:
        end = time.monotonic() + 30
        while not ((pod.root / "begun").exists() if index == 0 else (pod.root / "sshd.args").exists()):
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == code
        assert pod.text("shared/exit-code") == ""
    finally:
        pod.end()


# --- stage 1: the ranks of this node among themselves ---

INSIDE = {
    "GATE_INSIDE": "python3 -m gpufabric.validation.mpi_allreduce -b 1024 -e 4096",
    "GATE_INSIDE_RANKS": "2",
    "GATE_INSIDE_SECONDS": "1",
}


@pytest.mark.parametrize("index", [0, 1])
def test_every_index_first_runs_its_own_ranks(tmp_path: Path, index: int) -> None:
    pod = Pod(tmp_path / "pod", index=index, **INSIDE)
    pod.programs.fake("mpirun", 'echo "$*" >>"$GATE_ROOT/mpirun.args"; echo "# a row"')
    if index == 0:
        pod.authorize()
    pod.run()
    first, *more = pod.text("mpirun.args").splitlines()
    assert "-np 2 --host localhost:2 " in first
    assert first.endswith(INSIDE["GATE_INSIDE"])
    assert len(more) == (1 if index == 0 else 0), "no network run before the key is there"
    assert pod.text("shared/inside/output") == "# a row"
    assert pod.text("shared/inside/exit-code") == "0"
    assert pod.text("shared/inside/error") == ""


def test_a_node_that_is_wrong_inside_waits_to_be_let_in(pod: Pod) -> None:
    pod.environment |= INSIDE
    pod.programs.fake("mpirun", "echo half; exit 7")
    assert pod.run() == 71
    assert pod.text("shared/inside/exit-code") == "7"
    failed(pod, 71, "the public key of rank 0 did not come within 2 s")  # its own time, and that of the others' stage 1


def test_a_hang_inside_is_stopped_in_its_time(pod: Pod) -> None:
    pod.environment |= INSIDE
    pod.programs.fake("mpirun", "exec sleep 30")
    pod.run()
    assert pod.text("shared/inside/exit-code") == "124"
    assert pod.text("shared/inside/error") == "the benchmark inside the node did not end within 1 s and was stopped"


def test_a_benchmark_that_is_missing_is_said_by_stage_1(pod: Pod) -> None:
    pod.environment |= {**INSIDE, "GATE_INSIDE": "/opt/all_reduce_perf -b 8"}
    pod.run()
    assert pod.text("shared/inside/exit-code") == "70"
    assert pod.text("shared/inside/error") == "the image has no /opt/all_reduce_perf (the benchmark)"


@pytest.mark.parametrize("code", [0, 9])
def test_alone_there_is_nothing_after_stage_1(pod: Pod, code: int) -> None:
    pod.environment |= {**INSIDE, "GATE_ALONE": "1"}
    pod.programs.fake("mpirun", f"exit {code}")
    assert pod.run() == code
    assert pod.text("shared/inside/exit-code") == pod.text("shared/exit-code") == str(code)
    assert pod.text("sshd.args") == ""


@pytest.mark.parametrize("name", ["GATE_INSIDE_RANKS", "GATE_INSIDE_SECONDS"])
def test_stage_1_needs_its_numbers(pod: Pod, name: str) -> None:
    pod.environment |= {**INSIDE, name: "x"}
    assert pod.run() == 74
    assert f"{name} is 'x', not a whole number above 0" in pod.text("shared/error")


# --- torch: no ssh, every node starts its own ranks ---

TORCH = {
    "GATE_BACKEND": "torch",
    "GATE_BENCHMARK": "python3 -m gpufabric.validation.torch_launch --device cpu -b 1024 -e 4096",
}
PYTHON = """case "$*" in
*--check*) exit 0 ;;
*torch_launch*) echo "$*" >>"$GATE_ROOT/launch.args"; {} ;;
esac"""


def torch_pod(root: Path, index: int = 0, launch: str = 'echo "# a row"', more: dict[str, str] | None = None) -> Pod:
    pod = Pod(root, index=index, **TORCH, **(more or {}))
    for name in ("sshd", "ssh", "ssh-keygen", "mpirun"):
        (pod.programs.folder / name).unlink()
    pod.programs.link("head")
    pod.programs.fake("python3", PYTHON.format(launch))
    (pod.shared / "let-in").touch()
    return pod


def leaves(reason: str, code: int) -> str:
    """A launch that gives a reason in its file, which is its last argument."""
    return f'for last in "$@"; do :; done; echo "{reason}" >"$last"; exit {code}'


def test_torch_needs_neither_ssh_nor_mpi(tmp_path: Path) -> None:
    pod = torch_pod(tmp_path / "pod")
    assert pod.run() == 0, pod.output
    assert pod.text("shared/output") == "# a row"
    assert pod.text("shared/exit-code") == "0"
    assert pod.text("launch.args") == f"{TORCH['GATE_BENCHMARK'].removeprefix('python3 ')} --reason {pod.shared}/reason"


def test_torch_runs_the_nodes_own_ranks_first(tmp_path: Path) -> None:
    pod = torch_pod(tmp_path / "pod", more={**INSIDE, "GATE_INSIDE": TORCH["GATE_BENCHMARK"]})
    assert pod.run() == 0, pod.output
    inside, group = pod.text("launch.args").splitlines()
    assert inside.endswith(f"--inside --reason {pod.shared}/reason")
    assert "--inside" not in group
    assert pod.text("shared/inside/exit-code") == "0"


def test_a_reason_from_inside_reaches_the_judge(tmp_path: Path) -> None:
    pod = torch_pod(
        tmp_path / "pod", launch=leaves("rank 1 was killed", 75), more={**INSIDE, "GATE_INSIDE": "python3 torch_launch"}
    )
    assert pod.run() == 75
    assert pod.text("shared/inside/error") == "rank 1 was killed"
    assert pod.text("shared/inside/exit-code") == "75"


def test_nobody_begins_before_the_judge_lets_them_in(tmp_path: Path) -> None:
    pod = torch_pod(tmp_path / "pod")
    (pod.shared / "let-in").unlink()
    assert pod.run() == 71
    failed(pod, 71, "the judge beside this rank did not let it in within 1 s")
    assert pod.text("launch.args") == ""


@pytest.mark.parametrize(
    ("fake", "says"),
    [
        (
            'case "$*" in *sys.version_info*) exit 1 ;; --version) echo Python 3.8.10 ;; esac',
            "the image has Python 3.8.10; the torch",
        ),
        (
            f'case "$*" in *--check*) {leaves("the image has no torch for its python3", 70)} ;; esac',
            "the image has no torch for its",
        ),
        (
            'case "$*" in *--check*) echo "Trace"; echo "TypeError: bad"; exit 1 ;; esac',
            "cannot run the benchmark: TypeError: bad",
        ),
    ],
    ids=["an old Python", "no torch", "a Python that cannot read it"],
)
def test_an_image_that_cannot_run_torch_is_told_before_anything_else(tmp_path: Path, fake: str, says: str) -> None:
    pod = torch_pod(tmp_path / "pod")
    pod.programs.fake("python3", fake)
    assert pod.run() == 70
    failed(pod, 70, says)


def test_an_image_without_python(tmp_path: Path) -> None:
    pod = torch_pod(tmp_path / "pod")
    (pod.programs.folder / "python3").unlink()
    assert pod.run() == 70
    failed(pod, 70, "the image has no python3")


@pytest.mark.parametrize("index", [0, 1])
def test_a_rank_that_died_is_told_by_its_own_node(tmp_path: Path, index: int) -> None:
    pod = torch_pod(tmp_path / "pod", index=index, launch=leaves("rank 3 was killed by signal 9 (Killed)", 75))
    assert pod.run() == 75
    assert pod.text("shared/error") == "rank 3 was killed by signal 9 (Killed)"
    assert pod.text("shared/exit-code") == ("75" if index == 0 else "")
    if index:
        assert pod.text("message") == "rank 3 was killed by signal 9 (Killed)", "which the coordinator reads"


@pytest.mark.parametrize(("index", "code"), [(0, 1), (1, 0)])
def test_wrong_sums_are_told_by_index_0_alone(tmp_path: Path, index: int, code: int) -> None:
    pod = torch_pod(tmp_path / "pod", index=index, launch="exit 1")
    assert pod.run() == code
    assert pod.text("shared/error") == ""
