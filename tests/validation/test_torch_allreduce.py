"""One rank of the torch backend before it measures: each way in which torch, its GPUs or its peers may be missing.

What it measures with a real torch is shown on pods (tests/local/test_torch.py), where an image with torch was built.
"""

import ast
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpufabric.validation import torch_allreduce

ARGUMENTS = ["--at", "localhost:29500", "--meet-seconds", "1", "--seconds", "1", "--device"]
RANK = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"}
FOLDER = Path(torch_allreduce.__file__).parent


def fake(monkeypatch: pytest.MonkeyPatch, *, gpus: int = 8, **distributed: Any) -> None:
    def no_store(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Timed out after 2 seconds waiting for clients.\n 3/4 clients joined.")

    known = {"is_available": lambda: True, "is_gloo_available": lambda: True, "TCPStore": no_store, **distributed}
    cuda = SimpleNamespace(device_count=lambda: gpus, set_device=lambda _: None)
    torch = SimpleNamespace(__version__="2.9.1", cuda=cuda, device=lambda *at: at, set_num_threads=lambda _: None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace(**known))


def ended(monkeypatch: pytest.MonkeyPatch, device: str) -> tuple[int, str]:
    """Exit code of the rank, and what it told its launcher."""
    read, write = os.pipe()

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(SystemExit) as caught:
        torch_allreduce.main([*ARGUMENTS, device, "--events", str(write)], RANK)
    os.close(write)
    with os.fdopen(read) as pipe:
        return int(str(caught.value.code)), pipe.read()


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, said = ended(monkeypatch, "cpu")
    assert code == 70
    assert "torch cannot be imported" in said


def test_torch_without_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, is_gloo_available=lambda: False)
    assert ended(monkeypatch, "cpu")[1].endswith("torch 2.9.1 of the image is built without gloo\n")


def test_fewer_gpus_than_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, gpus=3)
    code, said = ended(monkeypatch, "cuda")
    assert code == 70
    assert "torch 2.9.1 sees 3 GPUs, rank 3 of the node has none" in said


def test_ranks_that_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch)
    code, said = ended(monkeypatch, "cuda")
    assert code == 72
    assert said.startswith("72 rank 3 on ")
    assert said.endswith(
        "the 4 ranks did not meet at localhost:29500: Timed out after 2 seconds waiting for clients. 3/4 clients joined.\n"
    )


@pytest.mark.parametrize(
    "name",
    ["torch_allreduce.py", "torch_launch.py", "sweep.py", "contract.py", "health_wish.py", "inside_wish.py", "reader.py"],
)
def test_what_runs_in_users_images_is_python_3_10(name: str) -> None:
    ast.parse((FOLDER / name).read_text("utf-8"), feature_version=(3, 10))
