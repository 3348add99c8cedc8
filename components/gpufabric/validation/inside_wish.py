"""What stage 1 holds every node against, among its own ranks: the `inside` section of gate.json. The plan fills it.

Without the section (one rank per node, a single node, a plan of an older version) stage 1 does not run and claims nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpufabric.validation.reader import Reader


@dataclass(frozen=True)
class Inside:
    """One sweep inside a node. `ranks`: processes on it. Sizes in bytes, the largest is judged; `seconds`: it is stopped then.

    `floor_busbw_gbytes_per_s` None: nothing is known to hold the figure against, so that only complete and right sums count.
    `what`: the measurement in words ("8 GPUs of one node"), for messages. `on_gpus`: they are read while they work (load.sh).
    """

    ranks: int
    min_bytes: int
    max_bytes: int
    factor: int
    seconds: int
    what: str
    floor_busbw_gbytes_per_s: float | None = None
    floor_source: str = ""
    on_gpus: bool = False

    def without_words(self) -> "Inside":
        """What decides: another wording is no other wish."""
        return replace(self, what="", floor_source="")

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `read` reads back to an equal Inside."""
        return dict(self.__dict__)


def read(reader: Reader, raw: Mapping[str, Any]) -> Inside:
    """The section of gate.json; problems are added to the reader's."""
    at = "inside."
    reader.problems += [f"{at}{key}: unknown key" for key in sorted(set(raw) - set(Inside.__dataclass_fields__))]
    found = Inside(
        ranks=reader.number(raw, "ranks", at, least=2),
        **{key: reader.number(raw, key, at) for key in ("min_bytes", "max_bytes", "seconds")},
        factor=reader.number(raw, "factor", at, least=2),
        what=reader.text(raw, "what", at),
        floor_busbw_gbytes_per_s=reader.real(raw, "floor_busbw_gbytes_per_s", at, optional=True),
        floor_source=str(raw.get("floor_source") or ""),
        on_gpus=bool(reader.take(raw, "on_gpus", bool, at)) if "on_gpus" in raw else False,
    )
    if found.min_bytes > found.max_bytes:
        reader.problems.append(f"{at}min_bytes: {found.min_bytes} is above max_bytes {found.max_bytes}")
    return found
