"""The flush barrier: it says done when all is in the bucket, and never otherwise."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpufabric.mounts import contract, rc
from tests.mounts.node import BUCKET, MIB, Node, await_, cached_plan, checksum, write

SHELLS = [each for each in (["dash"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(each[0])]


def test_it_waits_for_what_was_closed_and_for_what_is_still_open(node: Node) -> None:
    node.limit(20)
    wanted = write(node.files / "shard-0.pt", 40 * MIB)
    with (node.files / "shard-1.pt").open("wb") as still_open:
        still_open.write(b"half a shard")
        told = node.flush(timeout_s=4)
        assert told.returncode == 2, told.stdout
        assert re.search(r"4 s are over and not all is in the bucket: [12] files", told.stderr)
        assert node.in_bucket().get("shard-0.pt") in (None, wanted)
    done = node.flush()
    assert (done.returncode, done.stdout.strip().splitlines()[-1]) == (0, "flush: all that was written is in the bucket")
    assert node.in_bucket() == {"shard-0.pt": wanted, "shard-1.pt": checksum(node.files / "shard-1.pt")}


def test_it_is_the_moment_of_the_close_and_an_empty_file_counts(node: Node) -> None:
    """The queue's own counters are still zero right after a close: the records are what is believed."""
    for number in range(5):
        (node.files / f"latest-{number}").touch()
        done = node.flush()
        assert done.returncode == 0, done.stderr
        assert f"latest-{number}" in node.in_bucket()


def test_it_does_not_say_done_while_rclone_is_gone(node: Node) -> None:
    write(node.files / "model.pt", MIB)
    assert node.flush().returncode == 0
    node.stop("mount", signal.SIGKILL)
    told = node.flush(timeout_s=3)
    assert told.returncode == 3, told.stdout
    assert "the bucket is not mounted (rclone does not answer: " in told.stderr
    assert "nobody knows what is in the bucket" in told.stderr
    node.mount()
    assert node.flush().returncode == 0


def test_it_does_not_believe_a_status_that_nobody_renews(node: Node) -> None:
    assert node.flush().returncode == 0
    node.stop("agent", signal.SIGKILL)
    assert node.status()["state"] == "mounted", "the last status stays, and says that all is well"
    told = node.flush(timeout_s=2)
    assert told.returncode == 2 or "silent" in told.stderr
    assert told.returncode != 0
    told = subprocess.run(
        node.inside("env", "MOUNT_SILENT_SECONDS=1", "sh", f"{_inside(node)}/flush", "--timeout", "3"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 3
    assert "the agent of this mount is silent" in told.stderr


def test_it_outlives_a_restart_of_the_agent(node: Node) -> None:
    node.limit(10)
    wanted = write(node.files / "model.pt", 30 * MIB)
    flush = subprocess.Popen(node.inside("sh", f"{_inside(node)}/flush"), stdout=subprocess.PIPE, text=True)
    node.stop("agent", signal.SIGKILL)
    node.mount()
    out, _ = flush.communicate(timeout=60)
    assert flush.returncode == 0, out
    assert node.in_bucket() == {"model.pt": wanted}


@pytest.mark.parametrize("shell", SHELLS, ids=[each[0] for each in SHELLS])
def test_any_posix_shell_runs_it(node: Node, shell: list[str]) -> None:
    write(node.files / "model.pt", MIB)
    command = node.inside("env", "-i", "PATH=/bin:/usr/bin", *shell, f"{_inside(node)}/flush", "--timeout", "30")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run([*command[:-1], "soon"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (1, "flush: --timeout takes whole seconds\n")


def test_one_mounts_barrier_does_not_wait_for_anothers_uploads(start: Callable[..., Node]) -> None:
    """Each mount has its own folder, cache, agent and queue (SkyPilot issue 5081: one barrier waited for all jobs' mounts)."""
    slow, quick = start(name="slow"), start(cached_plan(name="other"), name="quick")
    slow.limit(2)
    write(slow.files / "big.pt", 30 * MIB)
    write(quick.files / "small.pt", MIB)
    assert quick.flush(timeout_s=10).returncode == 0
    assert slow.flush(timeout_s=0).returncode == 2


def test_the_figures_for_prometheus(node: Node) -> None:
    node.limit(5)
    write(node.files / "model.pt", 20 * MIB)
    await_(lambda: _figures(node)["gpufabric_mount_dirty_bytes"] == 20 * MIB, "the file to be seen")
    await_(lambda: _figures(node)["gpufabric_mount_uploads_in_progress"] == 1, "the upload to begin")
    found = _figures(node)
    assert (found["gpufabric_mount_up"], found["gpufabric_mount_dirty_files"]) == (1, 1)
    assert 0 < found["gpufabric_mount_lag_seconds"] < 30
    assert found["gpufabric_mount_cache_bytes"] >= 0  # rclone counts it every 10 s
    node.limit(0)
    assert node.flush().returncode == 0
    await_(lambda: _figures(node)["gpufabric_mount_dirty_files"] == 0, "the figures to follow")
    node.stop("mount", signal.SIGKILL)
    await_(lambda: _figures(node)["gpufabric_mount_up"] == 0, "the figures to say that it is down")


def test_the_agent_stays_until_the_mount_beside_it_has_ended(node: Node) -> None:
    """Kubernetes sends SIGTERM to it while the mount's preStop still listens to it."""
    agent = node.running["agent"]
    for child in Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text("ascii").split():
        os.kill(int(child), signal.SIGTERM)
    write(node.files / "last.pt", MIB)
    assert node.flush().returncode == 0
    assert agent.poll() is None
    node.stop("mount", signal.SIGTERM)
    assert agent.wait(timeout=20) == 0
    assert "last.pt" in node.in_bucket()


def test_the_remote_control_gives_figures_and_nothing_else(node: Node) -> None:
    """Its socket is the mount's and the agent's alone; even there nobody reads keys, deletes objects or runs commands."""
    socket = str(node.disk / "run" / "rc.sock")
    assert rc.call(socket, "vfs/stats")["fs"] == f"{contract.STORE}:{BUCKET}"
    for command in ("config/dump", "config/get", "operations/purge", "core/command", "core/quit", "vfs/forget"):
        with pytest.raises(rc.NoAnswerError, match="403"):
            rc.call(socket, command)


def test_without_a_cache_there_is_nothing_to_wait_for(start: Callable[..., Node]) -> None:
    from tests.mounts.node import plain_plan

    node = start(plain_plan())
    wanted = write(node.files / "model.pt", MIB)
    assert node.in_bucket() == {"model.pt": wanted}
    assert node.plan.pod.flush == ()
    assert node.plan.pod.pre_stop is None


def _inside(node: Node) -> str:
    return contract.folder(contract.HOST_ROOT, node.plan.mount)


def _figures(node: Node) -> dict[str, float]:
    """From the agent's port, which only the node's own network has."""
    url = f"http://127.0.0.1:{contract.METRICS_PORT}/metrics"
    text = node.run("python3", "-c", f"import urllib.request; print(urllib.request.urlopen({url!r}).read().decode())")
    rows = (line.split(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name.partition("{")[0]: float(value) for name, value in rows}
