"""The parts of the local cluster that need neither root nor a kernel."""

import ipaddress
import json
import os
import subprocess
import sys
import threading
import time
from itertools import combinations
from pathlib import Path

import pytest

from tools.errors import ToolError
from tools.folders import REPOSITORY, locked
from tools.localcluster import image_store, lifecycle, processes
from tools.localcluster.addresses import MAX_CLUSTERS, Addresses, free_index
from tools.localcluster.cluster import MAX_WORKERS, check_name, kubeconfig_of
from tools.localcluster.links import check_rate
from tools.localcluster.waits import ConditionTimeoutError, wait_until


def test_addresses_of_clusters_never_overlap() -> None:
    ranges = [
        [ipaddress.ip_network(f"{a.host_ip}/24", strict=False), ipaddress.ip_network(a.pod_range)]
        for a in map(Addresses, range(MAX_CLUSTERS))
    ]
    for ours, theirs in combinations(ranges, 2):
        assert not any(one.overlaps(other) for one in ours for other in theirs)


def test_machines_and_pods_lie_in_their_clusters_ranges() -> None:
    addresses = Addresses(3)
    machines = [addresses.machine_ip(position) for position in range(MAX_WORKERS + 1)]
    assert len({*machines, addresses.host_ip, addresses.control_plane_ip}) == MAX_WORKERS + 3
    assert all(m.startswith("10.200.3.") for m in machines)
    pods = ipaddress.ip_network(addresses.pod_range)
    assert all(ipaddress.ip_network(addresses.pod_subnet(p)).subnet_of(pods) for p in range(MAX_WORKERS + 1))  # type: ignore[arg-type]
    assert len(Addresses(MAX_CLUSTERS - 1).tag) <= 15


def test_an_index_is_free_when_nobody_and_nothing_holds_it() -> None:
    assert free_index([], [], ["default", "192.168.0.0/16"]) == 0
    assert free_index([0], [], []) == 1
    assert free_index([0], ["gfab1"], []) == 2
    assert free_index([], [], ["10.200.0.0/24"]) == 1
    assert free_index([], [], ["10.216.0.0/15"]) == 2
    assert free_index([], [], ["10.0.0.0/8"]) is None


@pytest.mark.parametrize("rate", ["100mbit", "1gbit", "0.5gbit", "64kbit", "1000mbit"])
def test_rates_that_are_taken(rate: str) -> None:
    assert check_rate(rate) == rate


@pytest.mark.parametrize("rate", ["", "100", "fast", "0mbit", "-1mbit", "2gbit", "100mbit; reboot", "10mbps"])
def test_rates_that_are_refused(rate: str) -> None:
    with pytest.raises(ToolError):
        check_rate(rate)


@pytest.mark.parametrize("name", ["", "Big", "a/b", "..", "x" * 21, "1st", "a b"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ToolError, match="is no cluster name"):
        check_name(name)


def test_the_kubeconfig_lies_at_a_fixed_place(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.localcluster", "--name", "other", "kubeconfig"]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(told) == kubeconfig_of("other") == tmp_path / "state" / "clusters" / "other" / "kubeconfig"


def test_a_timeout_says_which_log_to_read_and_how_it_ends(tmp_path: Path) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text("".join(f"line {i}\n" for i in range(50)))

    def refused() -> bool:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(ConditionTimeoutError) as caught:
        wait_until("the kubelet to answer", refused, 0.2, log)
    text = str(caught.value)
    assert "the kubelet to answer: not within 0 s (last answer: nobody listens)" in text
    assert str(log) in text
    assert text.endswith("line 49")
    assert "line 41\n" not in text


def test_a_hopeless_wait_ends_early() -> None:
    started = time.monotonic()
    with pytest.raises(ConditionTimeoutError, match="ended by itself"):
        wait_until("something", lambda: False, 60, hopeless=lambda: True)
    assert time.monotonic() - started < 5


def test_whoever_waits_for_a_deleted_folder_gets_the_new_one(tmp_path: Path) -> None:
    folder, seen = tmp_path / "cluster", []

    def second() -> None:
        with locked(folder):
            seen.append(folder.exists())

    with locked(folder):
        waiter = threading.Thread(target=second)
        waiter.start()
        folder.rmdir()
    waiter.join(timeout=10)
    assert seen == [True]


def test_only_the_meant_process_is_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        # A process that was started this instant has no arguments yet: the kernel sets them after the exec.
        wait_until("sleep runs", lambda: "60" in processes.command_line(child.pid), 10)
        processes.end(child.pid, still_meant=lambda pid: False)
        assert child.poll() is None
        processes.end(child.pid, still_meant=lambda pid: "60" in processes.command_line(pid))
        assert child.wait(timeout=10) != 0


def test_a_process_is_given_time_to_leave() -> None:
    script = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(7)); print('on', flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        processes.end(child.pid, still_meant=lambda pid: True, grace_seconds=10)
        assert child.wait(timeout=10) == 7


def test_a_node_is_seeded_with_links_to_the_shared_layers(tmp_path: Path) -> None:
    store, target = tmp_path / "store", tmp_path / "node"
    for database in image_store.DATABASES:
        (store / database).parent.mkdir(parents=True, exist_ok=True)
        (store / database).write_text("db")
    layer = store / image_store.SNAPSHOTS / "snapshots" / "1" / "fs"
    layer.mkdir(parents=True)
    blob = store / image_store.BLOBS / "blobs" / "sha256" / "abc"
    blob.parent.mkdir(parents=True)
    blob.write_text("blob")
    assert not image_store.is_seeded(target, store)
    image_store.seed(target, store)
    assert image_store.is_seeded(target, store)
    assert (target / image_store.SNAPSHOTS / "snapshots" / "1").readlink() == layer.parent
    assert (target / image_store.BLOBS / "blobs" / "sha256" / "abc").samefile(blob)
    (target / image_store.DATABASES[0]).write_text("changed")
    assert (store / image_store.DATABASES[0]).read_text() == "db"


def test_without_root_the_error_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ToolError, match=r"needs root .*; run the same command with sudo"):
        lifecycle.up("local", None, None)


def test_certificates_are_signed_by_the_clusters_ca(tmp_path: Path) -> None:
    from tools.localcluster.pki import Pki

    pki = Pki(tmp_path / "pki", "https://10.200.0.2:6443")
    pki.ensure_ca("test")
    pki.ensure("admin", "admin", organization="system:masters")
    before = pki.certificate("admin").read_bytes()
    pki.ensure("admin", "admin", organization="system:masters")
    assert pki.certificate("admin").read_bytes() == before
    subprocess.run(["openssl", "verify", "-CAfile", pki.ca, pki.certificate("admin")], check=True, capture_output=True)
    config = json.loads(pki.kubeconfig("admin", "test"))
    assert config["clusters"][0]["cluster"]["server"] == "https://10.200.0.2:6443"
    assert pki.key("admin").stat().st_mode & 0o077 == 0
