"""Where the script of the disks runs in tests: a kernel of its own with md and disks, or namespaces around loop devices.

Nothing of this machine's own disks is meant by either: the kernel is a process that was given files, and the namespaces are
given loop devices that were made for them, by name.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.folders import REPOSITORY
from tools.toolchain.debian import usermode_folder

HERE = Path(__file__).parent
SCRIPT = REPOSITORY / "components/gpufabric/local_nvme/disks.sh"
DISK_BYTES = 400 << 20
"""Each; sparse. xfs takes no less than 300 MiB."""
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Process 1 of a namespace of its own, so that /proc/1 says what is mounted in it.
_NAMESPACE = """
mount --make-rprivate / && mount -t tmpfs tmpfs /mnt
. {library}
{cases}
down
umount "$NODE" 2>/dev/null
exit 0
"""


@dataclass(frozen=True)
class Said:
    """What the cases left: the script's logs by the case's name, and the lines that a case wrote by ``see``."""

    folder: Path

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text("utf-8")

    def ended(self, name: str) -> str:
        """``up``, or the exit status."""
        return self.log(name).splitlines()[-1].removeprefix("= ")

    def seen(self) -> dict[str, str]:
        """All that was written by ``see``, by its name."""
        lines = (self.folder / "seen").read_text("utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def __getitem__(self, key: str) -> str:
        return self.seen()[key]


def make_disks(folder: Path, count: int) -> list[Path]:
    """Empty ones, as files."""
    made = [folder / f"disk-{number}" for number in range(1, count + 1)]
    for disk in made:
        with disk.open("wb") as file:
            file.truncate(DISK_BYTES)
    return made


def boot(folder: Path, disks: Sequence[Path], cases: str, timeout_s: float = 300) -> Said:
    """Switch a machine on with these disks, run the cases in it, and wait until it is off."""
    out = folder / "out"
    out.mkdir()
    (folder / "cases.sh").write_text(cases, "utf-8")
    given = {"PROGRAMS": usermode_folder(), "OUT": out, "SCRIPT": SCRIPT, "LIBRARY": HERE / "cases.sh"}
    text = (HERE / "guest.sh").read_text("utf-8").replace("@CASES@", str(folder / "cases.sh"))
    for key, value in given.items():
        text = text.replace(f"@{key}@", str(value))
    init = folder / "init"
    init.write_text(text, "utf-8")
    init.chmod(0o755)
    files = [f"ubd{letter}={disk}" for letter, disk in zip("bcdefgh", disks, strict=False)]
    kernel = ["mem=192M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", f"uml_dir={folder}/", f"init={init}"]
    consoles = ["con=null", "con0=null,fd:1", "ssl=null"]
    command = [str(usermode_folder() / "usr/bin/linux.uml"), *kernel, *files, *consoles]
    with (folder / "console").open("wb") as console:
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            machine.wait(timeout=timeout_s)
        finally:
            if machine.poll() is None:
                os.killpg(machine.pid, signal.SIGKILL)  # its processes are in the session that it leads
                machine.wait()
    assert (out / "seen").exists(), (folder / "console").read_text("utf-8", "replace")[-3000:]
    return Said(out)


@contextmanager
def loops(disks: Sequence[Path]) -> Iterator[list[str]]:
    """The disks as loop devices; each is detached by its name."""
    with ExitStack() as stack:
        made = []
        for disk in disks:
            found = subprocess.run(["losetup", "--find", "--show", str(disk)], check=True, capture_output=True, text=True)
            made.append(found.stdout.strip())
            stack.callback(subprocess.run, ["losetup", "--detach", made[-1]], check=True)
        yield made


def run_on(folder: Path, disks: Sequence[str], cases: str) -> Said:
    """Run the cases in namespaces of their own, on loop devices: ``$1``, ``$2``..."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    programs = usermode_folder()
    environment = {
        "PATH": f"{programs}/sbin:{programs}/usr/sbin:{_PATH}",
        "LD_LIBRARY_PATH": f"{programs}/usr/lib/x86_64-linux-gnu",
        "OUT": str(out),
        "SCRIPT": str(SCRIPT),
        "NODE": "/mnt/gpufabric/nvme",
        "FOLDER": str(folder),
        "LOOK_EVERY": "0.2",
    }
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    text = _NAMESPACE.format(library=HERE / "cases.sh", cases=cases)
    done = subprocess.run(
        [*namespaces, "sh", "-c", text, "cases", *disks],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return Said(out)
