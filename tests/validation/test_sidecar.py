"""The judge's container: keys over real HTTP on loopback, the verdict in the termination message."""

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpufabric.validation import files, keys, measurement, sidecar
from gpufabric.validation.files import write_whole
from tests.validation.printer import healthy
from tests.validation.samples import GATE

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeKeyForTests000000000000000000000000 root@rank-0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


class Box:
    """A gate folder and the environment of one pod's containers."""

    def __init__(self, root: Path, index: int, port: int) -> None:
        self.shared, self.log = root / "shared", root / "judge.msg"
        self.shared.mkdir(parents=True)
        (root / "plan").mkdir()
        (root / "plan" / "gate.json").write_text(json.dumps(GATE))
        self.environment = {
            "GATE_ROOT": str(root),
            "JOB_COMPLETION_INDEX": str(index),
            "GATE_HOST_PREFIX": "train-ranks",
            "GATE_SERVICE": "localhost",  # names below localhost are loopback
            "GATE_KEY_PORT": str(port),
            "GATE_DEADLINE_SECONDS": "30",
            "GATE_TERMINATION_LOG": str(self.log),
        }
        self.stop = threading.Event()
        self.code: int | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.code = sidecar.main(self.environment, self.stop)

    def start(self) -> None:
        self.thread.start()

    def join(self) -> int | None:
        self.thread.join(30)
        return self.code

    def message(self) -> measurement.Measurement:
        found = measurement.parse(self.log.read_text())
        assert found is not None
        return found


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path / "0", 0, free_port())
    box.start()
    yield box
    box.stop.set()
    box.join()


def ask(box: Box, path: str) -> tuple[int, str]:
    link = http.client.HTTPConnection("127.0.0.1", int(box.environment["GATE_KEY_PORT"]), timeout=5)
    try:
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    finally:
        link.close()


def listening(box: Box) -> bool:
    try:
        ask(box, "/key")
    except OSError:
        return False
    return True


def test_key_goes_round_and_the_output_is_judged(
    first: Box, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: listening(first))
    assert ask(first, "/key")[0] == 503
    assert ask(first, "/")[0] == 404
    second = Box(tmp_path / "1", 1, int(first.environment["GATE_KEY_PORT"]))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # peers are never behind a proxy
    monkeypatch.setattr(keys, "_RETRY_SECONDS", 0.05)
    url = f"http://127.0.0.1:{first.environment['GATE_KEY_PORT']}/key"
    monkeypatch.setattr(sidecar.Place, "of", staticmethod(_at(url, sidecar.Place.of)))
    second.start()
    time.sleep(0.1)
    (first.shared / "id.pub").write_text(KEY + "\n")
    assert second.join() == 0
    assert (second.shared / "authorized_keys").read_text() == f"restrict {KEY}\n"
    until((first.shared / "authorized_keys").exists)
    text = healthy().text()
    (first.shared / "output").write_text(text[:700])
    until(lambda: "Rank  1" in capfd.readouterr().out)
    (first.shared / "output").write_text(text)
    write_whole(first.shared / "exit-code", "0\n")
    assert first.join() == 0
    assert first.message().outcome == "pass"
    assert first.message().ranks == 2
    assert len(first.log.read_bytes()) <= 4096
    assert "Avg bus bandwidth" in capfd.readouterr().out


def _at(url: str, of: Callable[..., sidecar.Place]) -> Callable[..., sidecar.Place]:
    def place(environment: dict[str, str]) -> sidecar.Place:
        found = of(environment)
        return sidecar.Place(**{**found.__dict__, "key_url": url})

    return place


def test_what_rank_sh_reported_is_the_reason(first: Box) -> None:
    write_whole(first.shared / "error", "the image has no mpirun (Open MPI)\n")
    write_whole(first.shared / "exit-code", "70\n")
    assert first.join() == 0
    assert first.message().outcome == "unknown"
    assert first.message().reason == "the image has no mpirun (Open MPI) (exit code 70)"


@pytest.mark.parametrize(("expected", "outcome"), [("", "pass"), ("2", "pass"), ("16", "unknown")])
def test_a_pair_is_judged_by_its_own_number_of_ranks(tmp_path: Path, expected: str, outcome: str) -> None:
    box = Box(tmp_path / "0", 0, free_port())
    box.environment["GATE_RANKS"] = expected
    (box.shared / "output").write_text(healthy(ranks=2).text())
    write_whole(box.shared / "exit-code", "0\n")
    box.start()
    assert box.join() == 0
    assert box.message().outcome == outcome


def test_sigterm_leaves_unknown_even_with_a_good_table(first: Box) -> None:
    until(lambda: listening(first))
    (first.shared / "output").write_text(healthy().text())
    first.stop.set()
    assert first.join() == 0
    assert first.message().outcome == "unknown"
    assert first.message().reason.startswith("the pod was stopped (SIGTERM) before the benchmark ended; busbw")


def test_deadline(tmp_path: Path) -> None:
    box = Box(tmp_path / "0", 0, free_port())
    box.environment["GATE_DEADLINE_SECONDS"] = "0"
    box.start()
    assert box.join() == 0
    assert box.message().reason == "the benchmark did not end within 0 s; no rows in the output"


def test_wrong_sums_fail_even_when_stopped(tmp_path: Path) -> None:
    box = Box(tmp_path / "0", 0, free_port())
    box.environment["GATE_DEADLINE_SECONDS"] = "0"
    (box.shared / "output").write_text(healthy().text().replace(" 0 \n", " 7 \n").replace("     0\n", "     7\n"))
    box.start()
    box.join()
    assert box.message().outcome == "fail"


def test_broken_plan_and_broken_environment(tmp_path: Path) -> None:
    box = Box(tmp_path / "0", 0, free_port())
    (tmp_path / "0" / "plan" / "gate.json").write_text("{}")
    write_whole(box.shared / "exit-code", "0\n")
    box.start()
    box.join()
    assert "cannot read the plan" in box.message().reason
    other = Box(tmp_path / "x", 0, 1)
    del other.environment["JOB_COMPLETION_INDEX"]
    assert sidecar.main(other.environment, other.stop) == 1
    assert "JOB_COMPLETION_INDEX is '', not a whole number" in other.message().reason


def test_no_key_within_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_RETRY_SECONDS", 0.05)
    with pytest.raises(keys.KeyUnusableError, match="no public key from http"):
        keys.fetch_key(f"http://127.0.0.1:{free_port()}/key", 0.2)
    box = Box(tmp_path / "1", 1, free_port())
    box.environment["GATE_DEADLINE_SECONDS"] = "0"
    assert sidecar.main(box.environment, box.stop) == 1
    assert "no public key from http://train-ranks-0.localhost:" in box.message().reason
    assert not (box.shared / "authorized_keys").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        f"{KEY}\n{KEY}",
        f'command="rm -rf /" {KEY}',
        f"restrict {KEY}",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ssh-ed25519 not base64!",
        "ssh-ed25519",
        f"{KEY}\x00",
        "ssh-rsa " + "A" * 9000,
        "<html>ssh-ed25519 AAAA</html>",
    ],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(keys.KeyUnusableError, match="not one public key line"):
        keys.public_key(text)


@pytest.mark.parametrize(
    "text", [KEY, KEY + "\n", KEY.split(" root", maxsplit=1)[0], f"ecdsa-sha2-nistp256 AAAAE2VjZHNh{'A' * 60}= a b"]
)
def test_public_keys(text: str) -> None:
    assert keys.public_key(text) == text.strip()


def test_long_outputs_keep_their_beginning_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_HEAD_BYTES", 600)
    monkeypatch.setattr(files, "TAIL_BYTES", 3000)
    text = healthy().text()
    noise = "h:1:2 [0] NCCL INFO something\n" * 2000
    path = tmp_path / "output"
    path.write_text(text[:500] + "\n" + noise + text[500:])
    kept = files.text_of(path)
    assert len(kept) == 3600
    assert kept.startswith(text[:500])
    assert kept.endswith(text[-500:])
    assert files.text_of(tmp_path / "none") == ""
    assert os.path.lexists(path)
