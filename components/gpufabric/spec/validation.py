"""Wishes about the gate: what is measured, what is enough, how long to wait."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpufabric.spec.base import WholeNumber, Wish
from gpufabric.spec.node_group import Image
from gpufabric.spec.problems import shown

_SIZE = re.compile(r"([1-9][0-9]{0,5})([KMG])")
_UNIT = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SENTENCE_LETTERS = 200  # all sentences and the verdict share the 4,096 bytes of a pod's termination message


def _size(value: str) -> str:
    if not _SIZE.fullmatch(value) or not 1 << 10 <= size_bytes(value) <= 64 << 30:
        raise ValueError(f"{shown(value)} is not a message size; write 1K to 64G (K, M and G count in 1024), such as 8G")
    return value


def size_bytes(size: str) -> int:
    """``8G`` as 8 x 2^30 bytes: the sizes of nccl-tests, whose suffixes count in 1024."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"not a size: {size!r}")
    return int(match[1]) * _UNIT[match[2]]


def _sentence(value: str) -> str:
    if not 1 <= len(value) <= _SENTENCE_LETTERS or not value.isprintable():
        raise ValueError(f"{shown(value)} is not one sentence of at most {_SENTENCE_LETTERS} printable characters")
    return value


Sentence = Annotated[str, AfterValidator(_sentence)]
Minutes = Annotated[float, Field(ge=0.1, le=24 * 60, allow_inf_nan=False)]


class ValidationSpec(Wish):
    """The gate of every node group."""

    image: Image | None = None
    """The gate's own image: Python 3.11 for coordinator and judge; for the ``mpi`` backend also mpirun, mpi4py and sshd."""
    rank_image: Image | None = None
    """Image of the ranks: nccl-tests, mpirun and sshd for ``nccl``; that of your jobs for ``torch``, where it is required.
    A group's ``profile.image`` goes before it.
    Default: ``image``."""
    backend: Literal["nccl", "mpi", "torch"] = "nccl"
    """What measures. ``nccl``: nccl-tests on GPUs. ``mpi``: between CPUs over TCP. ``torch``: torch.distributed in
    ``rank_image``, the image of your jobs: nccl on GPUs, gloo (TCP) between CPUs."""
    floor_gbytes_per_s: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    """Least bus bandwidth of the largest message, GB/s (1e9 bytes/s). Default: the baseline table; without a row, required."""
    floor_all_gather_gbytes_per_s: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    """The same of the all_gather that ``nccl`` runs after the all_reduce between two nodes, by GPUDirect or RDMA. Default: the
    baseline table; without a row its figure is shown, and only a complete run with right data counts."""
    max_size: Annotated[str, AfterValidator(_size)] | None = None
    """Largest message, the one that is judged. Default 8G on GPUs, 64M between CPUs."""
    run: Annotated[WholeNumber, Field(ge=1, le=1_000_000)] = 1
    """Raise it to validate again. Only a raise drains nodes that are busy: their pods are evicted."""
    wait: bool = True
    """Wait for nodes that are not Ready (then fail). ``false``: fewer nodes than asked are normal, the verdict is pending."""
    health: dict[str, Literal["fatal", "warning", "ignore"]] = Field(default_factory=dict)
    """How bad a finding of stage 0 is, where the table is not right for you: by check (``hca_state: warning``) or by XID
    (``xid-63: fatal``, ``xid-13: ignore``). A check is never ignored, only a code is. Default: the table's severities."""
    dcgm_level: Annotated[WholeNumber, Field(ge=1, le=3)] = 1
    """Level of ``dcgmi diag`` in stage 0, where the image of the ranks has it. 1: seconds; 2: minutes, with memory and PCIe;
    3: a quarter of an hour, with stress. The clocks follow. Nodes without GPUs do without."""
    nodes_minutes: Minutes = 15
    """How long to wait for the nodes, until they are Ready and, where ``run`` was raised, drained; minutes."""
    start_minutes: Minutes = 15
    """How long image pull and start of the ranks may take, minutes; vendor images hold 10 GB and more."""
    benchmark_minutes: Minutes = 10
    """How long the sweep may take, with an all_gather after it, minutes; a hang ends here."""
    hold: Literal["label", "taint"] = "label"
    """How a node stays closed until it passes. ``label``: jobs with the pod profile ask for the label ``pass``. ``taint``: also
    tainted ``gpufabric.dev/hold:NoSchedule``, which keeps all pods off; DaemonSets that closed nodes need must tolerate it."""
    keep: bool = False
    """Keep the gate running: nodes that join, reboot or are replaced are validated and opened without an ``up``."""
    single_node_ok: bool = False
    """With ``keep``: open a late node by stages 0 and 1 alone where no idle partner is there. Its link is then not measured,
    and its annotation says so."""
    stand_ins: Annotated[list[Sentence], Field(max_length=10)] = Field(default_factory=list)
    """What is not the real thing here, in your own words, at most 10 sentences of 200 characters: every verdict repeats them.
    Default: none; backends without GPUs say so by themselves."""
