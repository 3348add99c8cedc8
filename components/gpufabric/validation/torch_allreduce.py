"""The sweep over torch.distributed, in the image of the user's own jobs: one process, one rank. `torch_launch` starts it.

    RANK=… WORLD_SIZE=… LOCAL_RANK=… python3 -m gpufabric.validation.torch_allreduce --at HOST:PORT --device cuda -b 8M -e 8G

nccl on GPUs, gloo on CPUs. torch sums in place only, so that both halves of the table are in place. Exit 0 fine, 1 wrong sums,
2 usage, 70 no fit torch, 72 the ranks did not meet, 75 anything else; on `--events` (a file descriptor) one line when the
ranks have met, and one with the reason where it ends otherwise than with a table.

Runs in users' images: nothing here needs more than Python 3.10 and torch 1.13.
"""

import argparse
import contextlib
import datetime
import importlib
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpufabric.validation import sweep
from gpufabric.validation.sweep import PERIOD

NAME: Final = "torch_allreduce"
MODULE: Final = "gpufabric.validation.torch_allreduce"
MET: Final = "met"
EXIT_IMAGE: Final = 70
EXIT_PEERS: Final = 72
EXIT_RANK: Final = 75
_CHUNK_ROWS: Final = 1 << 16  # 268 MB of float32 at a time while sums are compared: the GPU holds the data twice already


class RankError(Exception):
    """Why this rank cannot go on; `code` is its exit code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class TensorSide:
    """`sweep.Side` over one tensor."""

    in_place = True

    def __init__(self, ranks: "TorchRanks", count: int) -> None:
        self.torch, self.distributed, self.device, self.count = ranks.torch, ranks.distributed, ranks.at, count
        of = {"dtype": self.torch.float32, "device": self.device}
        self.mine = self.torch.tensor(sweep.pattern(ranks.rank), **of)
        self.right = self.torch.tensor(sweep.sums(ranks.size), **of)
        self.data = self.torch.empty(count, **of)
        self.refill()

    def refill(self) -> None:
        whole = self.count // PERIOD * PERIOD
        self.data[:whole].view(-1, PERIOD).copy_(self.mine.expand(whole // PERIOD, PERIOD))
        self.data[whole:].copy_(self.mine[: self.count - whole])

    def all_reduce(self) -> None:
        self.distributed.all_reduce(self.data)

    def finish(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def wrong(self) -> int:
        whole = self.count // PERIOD * PERIOD
        rows, wrong = self.data[:whole].view(-1, PERIOD), 0
        for start in range(0, len(rows), _CHUNK_ROWS):
            wrong += int((rows[start : start + _CHUNK_ROWS] != self.right).sum())
        return wrong + int((self.data[whole:] != self.right[: self.count - whole]).sum())


class TorchRanks:
    """The default process group as `sweep.Ranks`. `store`: where the ranks met; it carries what they say of themselves."""

    def __init__(self, torch: Any, distributed: Any, store: Any, device: Any, local_rank: int) -> None:
        self.torch, self.distributed, self.store, self.at = torch, distributed, store, device
        self.rank, self.size = int(distributed.get_rank()), int(distributed.get_world_size())
        on_gpu = device.type == "cuda"
        self.device = (local_rank, "cuda", str(torch.cuda.get_device_name(device))) if on_gpu else (0, "cpu", "CPU")

    def side(self, count: int, *, in_place: bool) -> TensorSide:
        del in_place  # torch knows no other way
        return TensorSide(self, count)

    def barrier(self) -> None:
        self._reduced(0.0, "SUM")

    def most(self, value: float) -> float:
        return self._reduced(value, "MAX")

    def total(self, value: int) -> int:
        return int(self._reduced(value, "SUM"))

    def gather(self, value: Any) -> list[Any]:
        self.store.set(f"said/{self.rank}", json.dumps(value))
        return [json.loads(self.store.get(f"said/{rank}")) for rank in range(self.size)] if self.rank == 0 else []

    def _reduced(self, value: float, how: str) -> float:
        """Over all ranks, and waited for: reading it back from a GPU does that."""
        cell = self.torch.tensor([value], dtype=self.torch.float64, device=self.at)
        self.distributed.all_reduce(cell, op=getattr(self.distributed.ReduceOp, how))
        return float(cell.item())


def parser() -> argparse.ArgumentParser:
    """The command line of one rank."""
    out = argparse.ArgumentParser(prog=NAME, description="All-reduce over torch.distributed, nccl-tests' columns.")
    out.add_argument("--at", required=True, help="HOST:PORT where the ranks meet; rank 0 listens there")
    out.add_argument("--device", choices=("cuda", "cpu"), required=True)
    out.add_argument("--meet-seconds", type=int, required=True, help="how long to wait for the other ranks")
    out.add_argument("--seconds", type=int, required=True, help="how long one collective may take at most")
    out.add_argument("--events", type=int, help="file descriptor for what the launcher is told")
    sweep.add_options(out)
    return out


def run(given: argparse.Namespace, wanted: sweep.Options, environment: Mapping[str, str]) -> int:
    """One rank from import to table; returns the exit code. Raises RankError."""
    rank, size, local = (int(environment[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    try:
        torch: Any = importlib.import_module("torch")
        distributed: Any = importlib.import_module("torch.distributed")
    except Exception as error:  # noqa: BLE001  # a broken CUDA library raises what it likes
        raise RankError(EXIT_IMAGE, f"torch cannot be imported: {error!r}") from None
    backend = "nccl" if given.device == "cuda" else "gloo"
    if not distributed.is_available() or not getattr(distributed, f"is_{backend}_available", lambda: True)():
        raise RankError(EXIT_IMAGE, f"torch {torch.__version__} of the image is built without {backend}")
    device = _device(torch, given.device, local)
    store = _meet(distributed, given, rank, size)
    distributed.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=given.seconds)
    )
    ranks = TorchRanks(torch, distributed, store, device, local)
    ranks.barrier()  # connections and NCCL's communicator are made at the first collective: not a part of what is timed
    _tell(given.events, MET)
    code = sweep.benchmark(ranks, wanted, NAME, [f"torch {torch.__version__}, backend {backend}"])
    ranks.barrier()  # rank 0 holds the store: it must not end before the others are done
    distributed.destroy_process_group()
    return code


def _device(torch: Any, kind: str, local: int) -> Any:
    if kind == "cpu":
        torch.set_num_threads(1)
        return torch.device("cpu")
    seen = int(torch.cuda.device_count())
    if local >= seen:
        raise RankError(
            EXIT_IMAGE,
            f"torch {torch.__version__} sees {seen} GPUs, rank {local} of the node has none (driver, or a CPU build?)",
        )
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def _meet(distributed: Any, given: argparse.Namespace, rank: int, size: int) -> Any:
    host, _, port = given.at.rpartition(":")
    try:
        patience = datetime.timedelta(seconds=given.meet_seconds)
        return distributed.TCPStore(host, int(port), size, is_master=rank == 0, timeout=patience)
    except Exception as error:  # noqa: BLE001  # torch's own kinds differ between versions
        raise RankError(EXIT_PEERS, f"the {size} ranks did not meet at {given.at}: {_line(error)}") from None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400] or repr(error)


def _tell(events: "int | None", line: str) -> None:
    if events is not None:
        with contextlib.suppress(OSError):
            os.write(events, f"{line}\n".encode())  # short enough to be written whole, whoever else writes


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run one rank. Its memory is not cleaned up after an error: a communicator that has lost a rank may wait for ever."""
    command = parser()
    given = command.parse_args(arguments)
    wanted = sweep.options(command, given)
    try:
        return run(given, wanted, environment)
    except RankError as error:
        code, reason = error.code, str(error)
    except Exception as error:  # noqa: BLE001
        code, reason = EXIT_RANK, _line(error)
    said = f"rank {environment.get('RANK', '?')} on {socket.gethostname()}: {reason}"
    print(f"# error: {said}", file=sys.stderr, flush=True)
    _tell(given.events, f"{code} {said}")
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
