"""The installers' programs, run by a shell in a folder that stands for image and node: what lies where, and what comes last."""

import subprocess
from pathlib import Path

import pytest

from gpufabric.hardware import machine_fabrics
from gpufabric.hardware.daemons import daemons
from gpufabric.hardware.fabric_pods import fabric_pods

SCRIPTS = Path(__file__).parents[2] / "components" / "gpufabric" / "plan" / "daemon_scripts"
INSTALLERS = [name for name, row in daemons().items() if row.installs]


def test_every_program_is_some_rows() -> None:
    named = {script for row in daemons().values() for script in (row.install_script, row.host_script) if script}
    assert named == {path.name for path in SCRIPTS.iterdir()}


def written(name: str, root: Path, in_pod: str) -> Path:
    """Where the installer puts what pods find at a path: from the pod to the node, from there into the installer."""
    row = daemons()[name]
    pod = fabric_pods()[row.installs]
    on_node = moved(in_pod, {mount: pod.host_paths[volume] for volume, mount in pod.mounts.items() if volume in pod.host_paths})
    return root / moved(on_node, {row.host_paths[volume]: mount for volume, mount in row.install_mounts.items()}).lstrip("/")


def moved(path: str, folders: dict[str, str]) -> str:
    (found,) = [f"{there}/{Path(path).relative_to(here)}" for here, there in folders.items() if Path(path).is_relative_to(here)]
    return found


def run_installer(name: str, root: Path) -> str:
    """Run its program with every absolute path of image and node below ``root``; the order in which files were written."""
    fabric = daemons()[name].installs
    held = {"gpudirect-tcpx": "tcpx/lib64", "gpudirect-tcpxo": "tcpxo/lib64", "gib": "gib"}[fabric]
    entry = root / "scripts/container_entry.sh"
    for folder in (entry.parent, root / "bin"):
        folder.mkdir(parents=True)
    for mount in daemons()[name].install_mounts.values():
        (root / mount.lstrip("/")).mkdir(parents=True, exist_ok=True)
    inside = root / "var/lib" / held
    entry.write_text(
        f"#!/bin/sh\nset -e\nmkdir -p {inside}/lib64 {inside}/scripts {inside}/configs\n"
        f"for each in lib64/libnccl-net.so libnccl-net.so scripts/set_nccl_env.sh nccl-env-profile.sh configs/tuner; do\n"
        f"  echo new >{inside}/$each\ndone\n"
    )
    entry.chmod(0o755)
    cp = root / "bin/cp"
    cp.write_text(f'#!/bin/sh\necho "$*" >>{root}/order\nexec /bin/cp "$@"\n')
    cp.chmod(0o755)
    text = (SCRIPTS / daemons()[name].install_script).read_text()
    for path in ("/var/lib", "/usr/local", "/scripts/container"):
        text = text.replace(path, f"{root}{path}")
    done = subprocess.run(
        ["/bin/sh", "-c", text], env={"PATH": f"{root}/bin:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (root / "order").read_text()


@pytest.mark.parametrize("name", INSTALLERS)
def test_pods_find_plugin_and_script_where_they_look(name: str, tmp_path: Path) -> None:
    run_installer(name, tmp_path)
    fabric = daemons()[name].installs
    libraries = machine_fabrics()[fabric].environment["LD_LIBRARY_PATH"]
    assert written(name, tmp_path, f"{libraries}/libnccl-net.so").read_text() == "new\n"
    if script := fabric_pods()[fabric].environment_script:
        assert written(name, tmp_path, script).read_text() == "new\n"


@pytest.mark.parametrize("name", [name for name in INSTALLERS if fabric_pods()[daemons()[name].installs].environment_script])
def test_the_script_that_pods_wait_for_comes_last(name: str, tmp_path: Path) -> None:
    *before, last = run_installer(name, tmp_path).splitlines()
    script = Path(fabric_pods()[daemons()[name].installs].environment_script).name
    assert script in last or last.split()[-2].endswith("/scripts")
    assert not [line for line in before if script in line]


@pytest.mark.parametrize("name", [name for name in INSTALLERS if fabric_pods()[daemons()[name].installs].environment_script])
def test_an_old_script_is_gone_while_a_new_one_is_installed(name: str) -> None:
    """A pod that starts in between waits, rather than mix an old script with new libraries."""
    text = (SCRIPTS / daemons()[name].install_script).read_text()
    assert text.index("rm -f ") < text.index("cp -r ")
