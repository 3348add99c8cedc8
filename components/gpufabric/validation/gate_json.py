"""gate.json: what one gate validates. The plan (ring 3) writes it; coordinator, controller and judges read it.

Everything is plain data; units stand in the names.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gpufabric.validation import also_wish, contract, health_wish, inside_wish
from gpufabric.validation.reader import Reader

VERSION: Final = 1
"""Of gate.json, of the judge's measurement and of verdict.json. Another number is an error, never guessed at."""
_PAIR_START_SECONDS: Final = 180  # ours: the nodes have the images


class ContractError(ValueError):
    """gate.json is not what the contract says; the message lists every problem as `path: problem`."""


@dataclass(frozen=True)
class Expectation:
    """What the judge holds the benchmark's output against.

    Sizes in bytes; bandwidths in 1e9 bytes per second (nccl-tests' unit). `transport_regex`: a line of the output must
    match it, or None where no transport is printed. `plausible_busbw_gbytes_per_s`: a value above three times this is
    absurd, hence unknown; None = no ceiling is known (NIC rate would be wrong: NVLS and in-network reduction exceed it).
    `also`: a second collective of the same sizes, in the same output; None: there is none.
    """

    backend: str
    collective: str
    ranks: int
    ranks_per_node: int
    min_bytes: int
    max_bytes: int
    factor: int
    floor_busbw_gbytes_per_s: float
    floor_source: str
    transport_regex: str | None = None
    plausible_busbw_gbytes_per_s: float | None = None
    also: also_wish.Also | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of gate.json. Without a second collective its key is absent: older fingerprints stay valid."""
        out = dict(self.__dict__)
        if self.also is None:
            del out["also"]
        else:
            out["also"] = self.also.to_dict()
        return out


@dataclass(frozen=True)
class Names:
    """Names of the gate's objects in its namespace; fixed by the plan, so that a killed `up` finds what it made."""

    coordinator_job: str
    rank_job: str
    service: str
    verdict: str


@dataclass(frozen=True)
class Timeouts:
    """Seconds: wait for nodes; for all rank pods to run; for the benchmark (inside rank.sh); for the rank Job as a whole."""

    nodes_s: int
    ranks_start_s: int
    benchmark_s: int
    rank_job_s: int

    def of_pair(self, stages_s: int = 0) -> "Timeouts":
        """A pair's: the nodes have the images and ran a rank a moment ago, so that a start, twice in a Job, takes less.

        `stages_s`: the time that these clocks have for stage 1 and a long stage 0; a pair does without.
        """
        start_s = min(self.ranks_start_s, _PAIR_START_SECONDS)
        rank_job_s = self.rank_job_s - 2 * (self.ranks_start_s - start_s) - stages_s
        return replace(self, ranks_start_s=start_s, rank_job_s=rank_job_s)


@dataclass(frozen=True)
class Gate:
    """gate.json. `nodes` means exactly that many; `run` is the user's counter; `fingerprint` a hash of what is validated.

    `stand_ins`: sentences on what is not the real thing here (a CPU pod for a GPU pod, ...); the verdict repeats them.
    `rank_job`: a complete batch/v1 Job; the coordinator adds only the ownerReference.
    """

    stack: str
    group: str
    namespace: str
    nodes: int
    node_selector: Mapping[str, str]
    wait_for_nodes: bool
    run: int
    fingerprint: str
    image: str
    expectation: Expectation
    names: Names
    timeouts: Timeouts
    rank_job: Mapping[str, Any]
    stand_ins: tuple[str, ...] = field(default=())
    health: health_wish.Health | None = None  # stage 0; None: a plan of an older version, no node is held to anything
    inside: inside_wish.Inside | None = None  # stage 1; None: it does not run
    single_node_ok: bool = False  # the controller may open a late node after stages 0 and 1 alone
    hold: str = "label"  # of contract.HOLDS; how nodes are closed is no part of what is validated

    @property
    def stages_s(self) -> int:
        """Seconds that the clocks have for stage 1, and for stage 0 beyond its minute."""
        return (self.inside.seconds if self.inside else 0) + (self.health.dcgm_more_s if self.health else 0)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `parse` reads back to an equal Gate."""
        out: dict[str, Any] = {"version": VERSION, **self.__dict__}
        out["node_selector"] = dict(self.node_selector)
        out["rank_job"] = dict(self.rank_job)
        out["stand_ins"] = list(self.stand_ins)
        for part in ("health", "inside"):
            out[part] = out[part].to_dict() if out[part] else None
        out["expectation"] = self.expectation.to_dict()
        for part in ("names", "timeouts"):
            out[part] = dict(out[part].__dict__)
        return out


def parse(text: str) -> Gate:
    """gate.json's text -> Gate. Raises ContractError with every problem found, one per line."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ContractError(f"gate.json: not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ContractError("gate.json: must be an object")
    if raw.get("version") != VERSION:
        raise ContractError(f"gate.json: version {raw.get('version')!r}; this program reads version {VERSION}")
    read = _GateReader()
    gate = read.gate(raw)
    if read.problems:
        raise ContractError("\n".join(read.problems))
    return gate


class _GateReader(Reader):
    def gate(self, raw: Mapping[str, Any]) -> Gate:
        known = set(Gate.__dataclass_fields__) | {"version"}
        self.problems += [f"{key}: unknown key" for key in sorted(set(raw) - known)]
        selector = self.take(raw, "node_selector", dict, "")
        if selector is not None and (not selector or not all(isinstance(v, str) for v in selector.values())):
            self.problems.append("node_selector: must map at least one label to a string")
        stand_ins = self.take(raw, "stand_ins", list, "") if "stand_ins" in raw else []
        hold = self.text(raw, "hold", "") if "hold" in raw else "label"
        if hold and hold not in contract.HOLDS:
            self.problems.append(f"hold: {hold!r} is not one of {', '.join(contract.HOLDS)}")
        return Gate(
            **{key: self.text(raw, key, "") for key in ("stack", "group", "namespace", "fingerprint", "image")},
            nodes=self.number(raw, "nodes", ""),
            node_selector=selector or {},
            wait_for_nodes=bool(self.take(raw, "wait_for_nodes", bool, "")),
            run=self.number(raw, "run", "", least=0),
            expectation=self.expectation(self.take(raw, "expectation", dict, "") or {}),
            names=Names(**self.texts(raw, "names", Names.__dataclass_fields__)),
            timeouts=Timeouts(**self.numbers(raw, "timeouts", Timeouts.__dataclass_fields__)),
            rank_job=self.rank_job(self.take(raw, "rank_job", dict, "") or {}),
            stand_ins=tuple(str(each) for each in stand_ins or []),
            health=health_wish.read(self, self.take(raw, "health", dict, "") or {}) if raw.get("health") is not None else None,
            inside=inside_wish.read(self, self.take(raw, "inside", dict, "") or {}) if raw.get("inside") is not None else None,
            single_node_ok=bool(self.take(raw, "single_node_ok", bool, "")) if "single_node_ok" in raw else False,
            hold=hold,
        )

    def expectation(self, raw: Mapping[str, Any]) -> Expectation:
        at = "expectation."
        self.problems += [f"{at}{key}: unknown key" for key in sorted(set(raw) - set(Expectation.__dataclass_fields__))]
        out = Expectation(
            backend=self.text(raw, "backend", at),
            collective=self.text(raw, "collective", at),
            floor_source=self.text(raw, "floor_source", at),
            **{key: self.number(raw, key, at) for key in ("ranks", "ranks_per_node", "min_bytes", "max_bytes")},
            factor=self.number(raw, "factor", at, least=2),
            floor_busbw_gbytes_per_s=self.real(raw, "floor_busbw_gbytes_per_s", at) or 0.0,
            transport_regex=None if raw.get("transport_regex") is None else self.text(raw, "transport_regex", at),
            plausible_busbw_gbytes_per_s=self.real(raw, "plausible_busbw_gbytes_per_s", at, optional=True),
            also=also_wish.read(self, self.take(raw, "also", dict, at) or {}, f"{at}also.") if "also" in raw else None,
        )
        if out.min_bytes > out.max_bytes:
            self.problems.append(f"{at}min_bytes: {out.min_bytes} is above max_bytes {out.max_bytes}")
        if out.transport_regex is not None:
            try:
                re.compile(out.transport_regex)
            except re.error as error:
                self.problems.append(f"{at}transport_regex: not a regular expression: {error}")
        return out

    def rank_job(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        if raw and (raw.get("kind") != "Job" or not all(isinstance(raw.get(part), dict) for part in ("metadata", "spec"))):
            self.problems.append("rank_job: must be a batch/v1 Job with metadata and spec")
        return raw
