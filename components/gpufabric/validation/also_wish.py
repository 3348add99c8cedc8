"""The second collective of a group's run, and what it is held to: `also` of gate.json's expectation. The plan fills it.

With it the group's first collective has a companion of the same sizes and ranks; without it there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpufabric.validation.reader import Reader


@dataclass(frozen=True)
class Also:
    """One more collective in the same Job. `floor_busbw_gbytes_per_s` None: no floor is known, complete and right counts."""

    collective: str
    floor_busbw_gbytes_per_s: float | None = None
    floor_source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `read` reads back to an equal Also."""
        return dict(self.__dict__)


def read(reader: Reader, raw: Mapping[str, Any], at: str) -> Also:
    """The part of gate.json at `at`; problems are added to the reader's."""
    reader.problems += [f"{at}{key}: unknown key" for key in sorted(set(raw) - set(Also.__dataclass_fields__))]
    return Also(
        collective=reader.text(raw, "collective", at),
        floor_busbw_gbytes_per_s=reader.real(raw, "floor_busbw_gbytes_per_s", at, optional=True),
        floor_source=str(raw.get("floor_source") or ""),
    )
