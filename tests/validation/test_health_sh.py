"""health.sh in a real POSIX shell: fake programs, a made-up /sys, and what the checks then read; and this machine as it is."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpufabric.validation.health import examine
from gpufabric.validation.health_readings import load
from gpufabric.validation.health_wish import Health
from tests.validation import health_outputs as outputs
from tests.validation.programs import SHELL, Programs
from tests.validation.test_health import WISH, found
from tests.validation.test_rank_sh import SCRIPT, Pod

HEALTH = SCRIPT.with_name("health.sh")
TOOLS = ("date", "sleep", "mkdir", "mv", "cat", "sed", "df")

NVIDIA_SMI = """case "$*" in
  --query-gpu=index,uuid*) cat "$FAKES/gpus" ;;
  --query-gpu=index,ecc*) cat "$FAKES/ecc" ;;
  --query-remapped-rows*) cat "$FAKES/rows" ;;
  --query-gpu=index,clocks_event*) echo 'Field "clocks_event_reasons.hw_slowdown" is not a valid field to query.'; exit 2 ;;
  --query-gpu=index,clocks_throttle*) cat "$FAKES/throttle" ;;
  --query-gpu=index,gpu_recovery*) echo 'Field "gpu_recovery_action" is not a valid field to query.'; exit 2 ;;
  'nvlink -s') cat "$FAKES/nvlink" ;;
  *) echo "unexpected: $*"; exit 1 ;;
esac"""


class Node:
    """A folder for /sys, /proc and /dev, a PATH of fakes, and the script."""

    def __init__(self, root: Path) -> None:
        self.root, self.host = root, root / "host"
        self.programs = Programs(root / "bin")
        self.programs.link(*TOOLS)
        self.environment = {
            "PATH": str(self.programs.folder),
            "GATE_ROOT": str(root),
            "GATE_HEALTH_PREFIX": str(self.host),
            "GATE_HEALTH_SECONDS": "20",
            "GATE_INTERFACE": "eth0",
            "FAKES": str(root / "fakes"),
        }
        (root / "fakes").mkdir()

    def file(self, path: str, text: str = "") -> None:
        file = self.host / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def output(self, name: str, text: str) -> None:
        (self.root / "fakes" / name).write_text(text)

    def run(self) -> float:
        begun = time.monotonic()
        done = subprocess.run(
            [SHELL, str(HEALTH)], env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return time.monotonic() - begun


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Eight GPUs, eight adapters; a driver before 535."""
    made = Node(tmp_path / "node")
    made.programs.fake("nvidia-smi", NVIDIA_SMI)
    made.programs.fake("dcgmi", f"cat <<'END'\n{outputs.dcgm()}\nEND")
    made.programs.fake(
        "dmesg", "echo '[    1.000000] Linux version 6.8'; echo '[    2.0] NVRM: Xid (PCI:0000:3b:00): 43, pid=1'"
    )
    made.output("gpus", outputs.gpus())
    made.output("ecc", outputs.ecc())
    made.output("rows", outputs.rows())
    made.output("throttle", outputs.throttle(prefix="clocks_throttle_reasons"))
    made.output("nvlink", outputs.nvlink())
    for each in range(8):
        made.file(f"dev/nvidia{each}")
        made.file(f"dev/infiniband/uverbs{each}")
        port = f"sys/class/infiniband/ibp{each}/ports/1"
        made.file(f"{port}/state", "4: ACTIVE\n")
        made.file(f"{port}/phys_state", "5: LinkUp\n")
        made.file(f"{port}/rate", "400 Gb/sec (4X NDR)\n")
        made.file(f"{port}/link_layer", "InfiniBand\n")
    made.file("sys/class/net/eth0/operstate", "up\n")
    made.file("sys/class/net/lo/operstate", "unknown\n")
    made.file("proc/uptime", "100.0 50.0\n")
    made.file("proc/meminfo", outputs.MEMINFO)
    made.file("proc/self/status", "Name:\tsed\nCapEff:\t00000000a80465fb\n")
    return made


def test_the_script_is_posix() -> None:
    subprocess.run([SHELL, "-n", str(HEALTH)], check=True)
    if checker := shutil.which("shellcheck"):
        subprocess.run([checker, "-s", "sh", str(HEALTH)], check=True)


# /dev/shm is the real one of this machine, of any size
WANTED = replace(WISH, shm_mib=1, rules={}, xids={**WISH.xids})


def test_what_a_healthy_node_says_passes(node: Node) -> None:
    node.run()
    report = examine(WANTED, load(node.root / "shared/health"))
    assert {each.check: each.measured for each in report.findings} == {
        "recovery": 'Field "gpu_recovery_action" is not a valid field to query. (exit code 2)'
    }
    assert set(report.passed) == set(WANTED.wanted) - {"recovery"}


def test_what_a_sick_node_says_is_found(node: Node) -> None:
    node.output("ecc", outputs.ecc({2: "1"}))
    node.output("nvlink", outputs.nvlink({3: outputs.link_down(5)}))
    node.file("sys/class/infiniband/ibp4/ports/1/state", "1: DOWN\n")
    node.file("sys/class/infiniband/ibp4/ports/1/phys_state", "3: Disabled\n")
    node.file("sys/class/infiniband/ibp5/ports/1/rate", "200 Gb/sec (4X HDR)\n")
    node.file("sys/class/net/eth0/operstate", "down\n")
    node.file("proc/meminfo", "HugePages_Total: 10\nHugepagesize: 2048 kB\n")
    node.file("proc/self/status", "CapEff:\t00000000a80425fb\n")  # containerd's default set
    for each in range(8):
        (node.host / f"dev/infiniband/uverbs{each}").unlink()
    node.programs.fake("dmesg", "echo '[   99.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.'")
    node.run()
    report = examine(WANTED, load(node.root / "shared/health"))
    measured = {each.check: each.measured for each in report.fatal}
    memlock = measured.pop("memlock", "")  # the limit is this machine's
    assert memlock.endswith(" KiB, without IPC_LOCK") or "memlock" in report.passed
    assert measured == {
        "ecc": "GPU 2: 1",
        "nvlink": "GPU 3: 17 active, 1 inactive",
        "xid": "XID 79 on 0000:3b:00 (reboot)",
        "hca_state": "ibp4 1: DOWN, 3: Disabled",
        "hca_rate": "ibp5 200 Gbit/s",
        "rdma_device": "none",
        "hugepages": "20 MiB",
        "interface": "eth0 is down",
    }


def test_an_image_without_any_of_the_programs(tmp_path: Path) -> None:
    node = Node(tmp_path / "bare")
    node.run()
    report = examine(WANTED, load(node.root / "shared/health"))
    assert set(report.passed) == {"shm"}, "the real /dev/shm"
    assert {each.severity for each in report.findings} - {"not checked"} == {"fatal"}
    assert {each.check for each in report.fatal} == {"gpu_count", "rdma_device"}, "no device file is there"
    assert found(report, "ecc").measured == "nvidia-smi is not in the image"
    assert found(report, "dcgm").measured == "dcgmi is not in the image"
    assert found(report, "hca_count").measured == "no output (exit code 1)"


def test_a_program_that_hangs_is_not_waited_for(node: Node) -> None:
    node.programs.fake("nvidia-smi", 'case "$*" in nvlink*) exec sleep 30 ;; esac\n' + NVIDIA_SMI)
    node.environment["GATE_HEALTH_SECONDS"] = "2"
    assert node.run() < 10
    report = examine(WANTED, load(node.root / "shared/health"))
    assert found(report, "nvlink").measured == "no answer in time"
    assert "ecc" in report.passed


def test_a_higher_level_of_dcgm_is_asked_for_and_waited_for(node: Node) -> None:
    node.programs.fake("dcgmi", f"[ \"$*\" = 'diag -r 3 -j' ] && sleep 2 && cat <<'END'\n{outputs.dcgm()}\nEND")
    node.environment |= {"GATE_HEALTH_SECONDS": "1", "GATE_DCGM_LEVEL": "3", "GATE_DCGM_SECONDS": "20"}
    node.run()
    assert "dcgm" in examine(replace(WANTED, dcgm_level=3), load(node.root / "shared/health")).passed


def test_this_machine_as_it_is(tmp_path: Path) -> None:
    """No fakes: a node without GPUs, as in the local cluster."""
    done = subprocess.run([SHELL, str(HEALTH)], env={"GATE_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=False)
    assert done.returncode == 0
    readings = load(tmp_path / "shared/health")
    names = [line.split()[1] for line in readings["interface"].text.splitlines() if line.startswith("has ")]
    up = next(name for name in names if name == "lo" or name.startswith("eth"))
    report = examine(Health(interface="nothing0", shm_mib=1 << 40, hugepages_mib=1 << 40, hcas=("nohca",)), readings)
    measured = {each.check: each.severity for each in report.findings}
    assert measured.items() >= {"interface": "fatal", "shm": "fatal", "hugepages": "fatal", "hca_count": "fatal"}.items()
    assert f"no nothing0; the pod has {names[0]}" in found(report, "interface").measured
    assert up in names


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    made = Pod(tmp_path / "pod")
    (made.root / "health.sh").write_text(HEALTH.read_text())
    yield made
    made.end()


def test_rank_sh_reads_before_it_asks_to_be_let_in(pod: Pod) -> None:
    pod.authorize()
    assert pod.run() == 0, pod.output
    assert (pod.shared / "health/done").exists()
    assert {path.stem for path in (pod.shared / "health").glob("*.code")} == set(outputs.HEALTHY)


def test_a_sick_node_is_never_let_in(pod: Pod) -> None:
    """The judge beside it writes no authorized_keys: rank 0 gives up, and mpirun is not started."""
    assert pod.run() == 71
    assert (pod.shared / "health/done").exists()
    assert pod.text("mpirun.args") == ""
