"""What to do with a group's nodes. Pure: states in, actions out; the controller only carries them out.

A node is open while it carries the label `pass`. It needs validation when nothing says that it passed in the boot that it is
in: it joined, was rebooted, was replaced under its name, or somebody took its annotation away to have it tested again. It is
then measured with one idle node that is known good. Where no node is known good, the whole group is measured at once, as the
coordinator does, when exactly as many nodes as asked can run a rank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gpufabric.validation import controller_contract as words
from gpufabric.validation.controller_state import State

MOST_RUNS: Final = 4
"""Pairs at a time: more would share the fabric's upper levels, and a whole rack that joins is done in minutes all the same."""
RETRY_SECONDS: Final = 600.0
"""An outcome `unknown` proves nothing, so it is tried again after this; `fail` stays until a reboot, a repair or an `up`."""


_UNTESTED: Final = (words.WHY_NOT_READY, words.WHY_RESERVED)
"""Closed for these, a node opens again untested: nothing was found against it."""


@dataclass(frozen=True)
class Wanted:
    """What the group should be: nodes asked for, the fingerprint of what is validated, whether closed nodes are tainted.

    `single_node_ok`: whether a node may be opened alone.
    """

    nodes: int
    fingerprint: str
    taint: bool = False
    single_node_ok: bool = False


@dataclass(frozen=True)
class Close:
    """Take the label away. `why`: words.WHY_NOT_READY or WHY_UNPROVEN."""

    node: str
    why: str
    reason: str


@dataclass(frozen=True)
class Restore:
    """Give the label back untested: the node passed in this very boot and was only not Ready for a while."""

    node: str


@dataclass(frozen=True)
class Pend:
    """Say on the node why it waits; only when that is news. `why`: words.WHY_PENDING or WHY_BUSY."""

    node: str
    reason: str
    why: str = words.WHY_PENDING


@dataclass(frozen=True)
class Lock:
    """Taint a closed node that has no taint: it joined without, or somebody took it away."""

    node: str


@dataclass(frozen=True)
class Unlock:
    """Take the taint off a closed node: the hold was `taint` and is `label` now."""

    node: str


@dataclass(frozen=True)
class Clear:
    """The node is open: take away what was said while it was not."""

    node: str


@dataclass(frozen=True)
class Measure:
    """Run ranks on these nodes. A pair is the node that needs it and a partner that is known good; `partner` empty: a group.

    `alone`: one node by itself, by the stages inside it (single_node_ok).
    """

    nodes: tuple[str, ...]
    partner: str = ""
    alone: bool = False


@dataclass(frozen=True)
class Reserve:
    """Have this many busy known-good nodes reserved as they free up, for late nodes that have no partner.

    `but`: open nodes that are no partners.
    """

    count: int
    but: tuple[str, ...] = ()


Action = Close | Restore | Pend | Lock | Unlock | Clear | Measure | Reserve


def decide(states: Sequence[State], now: float, wanted: Wanted) -> list[Action]:
    """All that is to do now, at most one action per node. `now` in seconds since 1970."""
    members = [state for state in states if state.member]
    out: list[Action] = []
    needy: list[State] = []
    for state in members:
        action = _close_or_open(state, wanted)
        if action is not None:
            out.append(action)
        elif needs_validation(state, now) and state.ready and not state.running:
            needy.append(state)
    if any(isinstance(action, Restore) for action in out) and not any(_known_good(state) for state in members):
        return out  # somebody is about to be: then a partner can be had
    return out + list(_measure(members, needy, wanted))


def needs_validation(state: State, now: float) -> bool:
    """It is closed, and no verdict of this boot says that it has to stay so."""
    if state.label == "pass":
        return False
    if state.label in ("fail", "unknown") and state.record is not None and state.same_boot:
        return state.label == state.record.outcome == "unknown" and now - state.record.at >= RETRY_SECONDS
    return True


def needs_partner(state: State, now: float) -> bool:
    """It is to be measured with a known-good node: closed, or opened alone, so that its link is not known to be good."""
    return needs_validation(state, now) or _open_alone(state)


def _close_or_open(state: State, wanted: Wanted) -> Action | None:
    if state.label == "pass":
        if not state.ready:
            return Close(state.name, words.WHY_NOT_READY, "it is not Ready")
        if not state.proven:
            return Close(state.name, words.WHY_UNPROVEN, _unproven(state))
        return Clear(state.name) if state.hold is not None or state.tainted else None
    held = state.hold is not None and state.hold.why in _UNTESTED and state.hold.boot_id == state.boot_id
    if not state.label and held and state.ready and not state.running and state.proven and _still_stands(state, wanted):
        return Restore(state.name)
    if wanted.taint:
        return None if state.tainted else Lock(state.name)
    return Unlock(state.name) if state.tainted and not state.running else None  # while it runs it may be reserved


def _unproven(state: State) -> str:
    if state.record is None:
        return "no verdict is recorded on it: it is new, or was replaced under its name"
    if state.record.outcome != "pass":
        return f"its recorded verdict is {state.record.outcome}"
    return "it was rebooted since it passed"


def _still_stands(state: State, wanted: Wanted) -> bool:
    """What it passed is what the gate asks for now; of a node that was open until it was reserved nobody asks."""
    return _reserved(state) or (state.record is not None and state.record.fingerprint == wanted.fingerprint)


def _reserved(state: State) -> bool:
    """A partner that is closed for the minutes of its pair."""
    return state.hold is not None and state.hold.why == words.WHY_RESERVED


def _known_good(state: State) -> bool:
    return state.label == "pass" and state.ready and state.proven


def _open_alone(state: State) -> bool:
    return _known_good(state) and state.alone


def _free(state: State) -> bool:
    return not (state.why_not or state.busy or state.running)


def _is_partner(state: State) -> bool:
    """Of a node in a run: it is the known-good one of the pair."""
    return _reserved(state) or (state.label == "pass" and not state.alone)


def _measure(members: Sequence[State], needy: Sequence[State], wanted: Wanted) -> Iterator[Action]:
    lone = sorted((state for state in members if _open_alone(state) and _free(state)), key=lambda state: state.name)
    if not needy and not lone:
        return
    good = [state for state in members if _known_good(state) and not state.alone]
    if not good and not any(state.label == "pass" for state in members):
        yield from _whole_group(members, needy, wanted)
        return
    free = sorted(
        (state for state in good if _free(state)),
        key=lambda state: (not state.reserved, state.failed_pairs, state.name),
    )
    room = MOST_RUNS - sum(state.running and not _is_partner(state) for state in members)
    waiting = 0
    for state in sorted(needy, key=lambda each: each.name):
        partner = _partner(state, free, good) if room > 0 else None
        if state.why_not or state.busy:
            yield from _not_now(state)
        elif partner is not None:
            room -= 1
            free.remove(partner)
            yield Measure((state.name, partner.name), partner.name)
        elif state.doubted:
            yield from _pend(state, f"it failed with {state.doubted}; another node that is known good is waited for")
        elif wanted.single_node_ok and not free and room > 0:
            room -= 1
            yield Measure((state.name,), alone=True)
        else:
            waiting += 1
            yield from _pend(
                state, "no idle node that is known good is there to measure it with; the next one that is free is used"
            )
    for state, partner in zip(lone[: max(room, 0)], free, strict=False):  # opened by itself; now somebody is free
        yield Measure((state.name, partner.name), partner.name)
    to_come = sum(state.busy and not state.why_not and not state.running for state in good)
    if (count := min(waiting, to_come, room)) > 0:
        yield Reserve(count, tuple(state.name for state in members if state.label == "pass" and state not in good))


def _partner(state: State, free: Sequence[State], good: Sequence[State]) -> State | None:
    """An idle known-good node; for a second opinion another one than the first, if there is any."""
    for partner in free:
        if partner.name != state.doubted or not any(each.name != state.doubted for each in good):
            return partner
    return None


def _whole_group(members: Sequence[State], needy: Sequence[State], wanted: Wanted) -> Iterator[Action]:
    """Nobody is known good: only the group as a whole can be judged, and only as it was asked for."""
    running = any(state.running for state in members)
    usable = [state for state in members if not state.why_not]
    if (
        not running
        and all(state in needy for state in usable)
        and len(usable) == wanted.nodes
        and not any(state.busy for state in usable)
    ):
        yield Measure(tuple(sorted(state.name for state in usable)))
        return
    if running:
        return
    judged = sorted(state.name for state in members if state.ready and state not in needy)
    for state in needy:
        if state.why_not or state.busy:
            yield from _not_now(state)
            continue
        if judged:
            reason = f"no node is known good, and {', '.join(judged[:4])} did not pass: repair, then run `pulumi up`"
        elif len(usable) > wanted.nodes:
            reason = f"no node is known good, and {len(usable)} nodes are there where {wanted.nodes} are asked for"
        elif len(usable) < wanted.nodes:
            reason = f"{len(usable)} of {wanted.nodes} nodes can run a rank and none is known good; measured when all are there"
        else:
            reason = "no node is known good, and other nodes of the group are busy; measured when they are idle"
        yield from _pend(state, reason)


def _not_now(state: State) -> Iterator[Action]:
    if state.why_not:
        yield from _pend(state, f"it {state.why_not}")
    else:
        yield from _pend(state, "it is busy with other pods, which are left alone", words.WHY_BUSY)


def _pend(state: State, reason: str, why: str = words.WHY_PENDING) -> Iterator[Action]:
    said = state.hold
    if said is None or (said.why, said.reason, said.boot_id) != (why, reason, state.boot_id):
        yield Pend(state.name, reason, why)
