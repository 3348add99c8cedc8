"""What the controller decides: a table of situations, and what must hold in any."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufabric.validation import controller_contract as words
from gpufabric.validation.controller_decide import (
    MOST_RUNS,
    RETRY_SECONDS,
    Action,
    Clear,
    Close,
    Lock,
    Measure,
    Pend,
    Reserve,
    Restore,
    Unlock,
    Wanted,
    decide,
)
from gpufabric.validation.controller_state import State
from gpufabric.validation.records import Hold, Record

NOW = 1_000_000.0
TWO = Wanted(2, "f1")
PASSED = Record("pass", "boot-1", "f1", NOW - 50)
HELD = Hold(words.WHY_NOT_READY, "boot-1")
RESERVED = Hold(words.WHY_RESERVED, "boot-1")
BUSY = "it is busy with other pods, which are left alone"
NO_PARTNER = "no idle node that is known good is there to measure it with; the next one that is free is used"


def good(name: str, **changes: object) -> State:
    return replace(State(name, "boot-1", label="pass", record=PASSED), **changes)  # type: ignore[arg-type]


def new(name: str, **changes: object) -> State:
    return replace(State(name, "boot-9"), **changes)  # type: ignore[arg-type]


def down(name: str, **changes: object) -> State:
    return good(name, ready=False, why_not="is not Ready (NodeStatusUnknown)", **changes)


def pair(node: str, partner: str) -> Measure:
    return Measure((node, partner), partner)


REBOOTED = "it was rebooted since it passed"
UNKNOWN = Record("unknown", "boot-1", "f1", NOW - 50)
TABLE: dict[str, tuple[list[State], list[Action]]] = {
    "all is well": ([good("a"), good("b")], []),
    "a node is not Ready": ([good("a"), down("b")], [Close("b", words.WHY_NOT_READY, "it is not Ready")]),
    "it is closed already": ([good("a"), down("b", label="", hold=HELD)], []),
    "it is back in the same boot": ([good("a"), good("b", label="", hold=HELD)], [Restore("b")]),
    "it is back, but the gate wants something else now": (
        [good("a"), good("b", label="", hold=HELD, record=replace(PASSED, fingerprint="f0"))],
        [pair("b", "a")],
    ),
    "it is back, but what it is recorded with is no pass": (
        [good("a"), good("b", label="", hold=HELD, record=replace(PASSED, outcome="fail"))],
        [pair("b", "a")],
    ),
    "it is back, but what passed was another boot": (
        [good("a"), good("b", label="", hold=HELD, record=replace(PASSED, boot_id="boot-0"))],
        [pair("b", "a")],
    ),
    "it is back after a reboot": ([good("a"), good("b", label="", hold=HELD, boot_id="boot-2")], [pair("b", "a")]),
    "it rebooted so fast that nobody saw it": (
        [good("a"), good("b", boot_id="boot-2")],
        [Close("b", words.WHY_UNPROVEN, REBOOTED)],
    ),
    "closed by a coordinator that was killed": ([good("a"), good("b", label="")], [pair("b", "a")]),
    "a label that nobody recorded": (
        [good("a"), new("b", label="pass")],
        [Close("b", words.WHY_UNPROVEN, "no verdict is recorded on it: it is new, or was replaced under its name")],
    ),
    "a label against the record": (
        [good("a"), good("b", record=replace(PASSED, outcome="fail"))],
        [Close("b", words.WHY_UNPROVEN, "its recorded verdict is fail")],
    ),
    "a boot that has no id is no boot that passed": (
        [good("a"), good("b", boot_id="", record=replace(PASSED, boot_id=""))],
        [Close("b", words.WHY_UNPROVEN, REBOOTED)],
    ),
    "a third node joins": ([good("a"), good("b"), new("c")], [pair("c", "a")]),
    "it takes the partner with whom fewer pairs failed": (
        [good("a", failed_pairs=1), good("b"), new("c")],
        [pair("c", "b")],
    ),
    "two join, two partners": ([good("a"), good("b"), new("c"), new("d")], [pair("c", "a"), pair("d", "b")]),
    "two join, one partner": ([good("a"), new("c"), new("d")], [pair("c", "a"), Pend("d", NO_PARTNER)]),
    "said once": (
        [good("a", running=True), new("c", hold=Hold(words.WHY_PENDING, "boot-9", NO_PARTNER))],
        [],
    ),
    "the only partner is busy": ([good("a", busy=True), new("c")], [Pend("c", NO_PARTNER), Reserve(1)]),
    "two wait for one of three that are busy": (
        [good("a", busy=True), good("b", busy=True), good("e", busy=True), new("c"), new("d")],
        [Pend("c", NO_PARTNER), Pend("d", NO_PARTNER), Reserve(2)],
    ),
    "a busy node that is cordoned does not free up for us": (
        [good("a", busy=True, why_not="is cordoned"), new("c")],
        [Pend("c", NO_PARTNER)],
    ),
    "one is reserved": ([good("a"), good("b", reserved=True), new("c")], [pair("c", "b")]),
    "its reserved partner waits for the run": (
        [good("b", label="", hold=RESERVED, running=True, tainted=True), new("c", running=True)],
        [],
    ),
    "its reserved partner opens again, whatever it was measured for": (
        [good("b", label="", hold=RESERVED, tainted=True, record=replace(PASSED, fingerprint="f0")), new("c")],
        [Restore("b")],
    ),
    "a reserved partner that rebooted does not": (
        [good("a"), good("b", label="", hold=RESERVED, boot_id="boot-2")],
        [pair("b", "a")],
    ),
    "a second opinion is another partner's": ([good("a"), good("b"), new("c", doubted="a")], [pair("c", "b")]),
    "and is waited for": (
        [good("a"), good("b", busy=True), new("c", doubted="a")],
        [Pend("c", "it failed with a; another node that is known good is waited for")],
    ),
    "where nobody else is left, the first one's is": ([good("a"), new("c", doubted="a")], [pair("c", "a")]),
    "the only partner is cordoned": ([good("a", why_not="is cordoned"), new("c")], [Pend("c", NO_PARTNER)]),
    "the only partner is in a run": ([good("a", running=True), new("b", running=True), new("c")], [Pend("c", NO_PARTNER)]),
    "the late node is busy": (
        [good("a"), new("c", busy=True)],
        [Pend("c", BUSY, words.WHY_BUSY)],
    ),
    "the late node is cordoned": ([good("a"), new("c", why_not="is cordoned")], [Pend("c", "it is cordoned")]),
    "a node that failed stays closed": ([good("a"), good("b", label="fail", record=replace(PASSED, outcome="fail"))], []),
    "until it is rebooted": (
        [good("a"), good("b", label="fail", record=replace(PASSED, outcome="fail"), boot_id="boot-2")],
        [pair("b", "a")],
    ),
    "or its annotation is taken away": ([good("a"), good("b", label="fail", record=None)], [pair("b", "a")]),
    "closed by hand": ([good("a"), good("b", label="fail")], []),
    "unknown a moment ago": ([good("a"), good("b", label="unknown", record=UNKNOWN)], []),
    "unknown is tried again": (
        [good("a"), good("b", label="unknown", record=replace(UNKNOWN, at=NOW - RETRY_SECONDS))],
        [pair("b", "a")],
    ),
    "an open node with an old hold": ([good("a", hold=HELD), good("b")], [Clear("a")]),
    "pending at deploy, one there": (
        [new("a")],
        [Pend("a", "1 of 2 nodes can run a rank and none is known good; measured when all are there")],
    ),
    "pending at deploy, now all there": ([new("b"), new("a")], [Measure(("a", "b"))]),
    "more than asked and nobody is known good": (
        [new("a"), new("b"), new("c")],
        [Pend(name, "no node is known good, and 3 nodes are there where 2 are asked for") for name in ("a", "b", "c")],
    ),
    "all rebooted, one is busy": (
        [new("a"), new("b", busy=True)],
        [
            Pend("a", "no node is known good, and other nodes of the group are busy; measured when they are idle"),
            Pend("b", BUSY, words.WHY_BUSY),
        ],
    ),
    "the group failed, one was rebooted": (
        [new("a"), good("b", label="fail", record=replace(PASSED, outcome="fail"))],
        [Pend("a", "no node is known good, and b did not pass: repair, then run `pulumi up`")],
    ),
    "the group is being measured": ([new("a", running=True), new("b", running=True)], []),
    "nodes of others": ([good("a"), good("b"), new("x", member=False), down("y", member=False)], []),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_table(case: str) -> None:
    states, actions = TABLE[case]
    assert decide(states, NOW, TWO) == actions


def test_many_that_join_are_measured_a_few_at_a_time() -> None:
    states = [good(f"g{number}") for number in range(8)] + [new(f"n{number}") for number in range(8)]
    measured = [action for action in decide(states, NOW, Wanted(8, "f1")) if isinstance(action, Measure)]
    assert len(measured) == MOST_RUNS


BOOTS = st.sampled_from(["", "boot-1", "boot-2"])
RECORDS = st.builds(
    Record,
    outcome=st.sampled_from(["pass", "fail", "unknown", "pending", "x"]),
    boot_id=BOOTS,
    fingerprint=st.sampled_from(["f1", "f0"]),
    at=st.sampled_from([0.0, NOW - RETRY_SECONDS, NOW - 1, NOW + 1]),
    alone=st.booleans(),
)
WHYS = [words.WHY_NOT_READY, words.WHY_PENDING, words.WHY_UNPROVEN, words.WHY_RESERVED, words.WHY_BUSY, ""]
HOLDS = st.builds(Hold, why=st.sampled_from(WHYS), boot_id=BOOTS)
STATES = st.lists(
    st.builds(
        State,
        name=st.sampled_from([f"n{number}" for number in range(9)]),
        boot_id=BOOTS,
        ready=st.booleans(),
        why_not=st.sampled_from(["", "", "is cordoned"]),
        label=st.sampled_from(["", "pass", "pass", "fail", "unknown", "yes"]),
        record=st.none() | RECORDS,
        hold=st.none() | HOLDS,
        busy=st.booleans(),
        tainted=st.booleans(),
        running=st.booleans(),
        reserved=st.booleans(),
        doubted=st.sampled_from(["", "", "n0", "n1"]),
        failed_pairs=st.integers(0, 2),
        member=st.sampled_from([True, True, True, False]),
    ).map(lambda state: state if state.ready else replace(state, why_not="is not Ready")),
    max_size=9,
    unique_by=lambda state: state.name,
)


@given(STATES, st.integers(1, 5))
def test_what_holds_in_any_situation(states: list[State], nodes: int) -> None:
    wanted = Wanted(nodes, "f1")
    decided = decide(states, NOW, wanted)
    reserved = sum(action.count for action in decided if isinstance(action, Reserve))
    assert reserved <= sum(state.busy and state.label == "pass" for state in states)
    actions = [action for action in decided if not isinstance(action, Reserve)]
    by_name = {state.name: state for state in states}
    touched = [name for action in actions for name in (action.nodes if isinstance(action, Measure) else (action.node,))]
    cleared = {action.node for action in actions if isinstance(action, Clear)}
    changed = [name for name in touched if name not in cleared]
    assert len(set(changed)) == len(changed), "one action per node"
    assert all(by_name[name].member for name in touched), "nodes of others are not touched"
    runs = [action for action in actions if isinstance(action, Measure)]
    in_runs = [name for run in runs for name in run.nodes]
    assert len(set(in_runs)) == len(in_runs), "one run per node"
    for name in in_runs:
        state = by_name[name]
        assert not state.running
        assert not state.busy
        assert state.ready
        assert not state.why_not
    for run in runs:
        partner = by_name.get(run.partner)
        if partner is None:
            assert not any(state.label == "pass" for state in states if state.member)
            assert len(run.nodes) == nodes
        else:
            assert partner.label == "pass"
            assert partner.proven
            assert not partner.alone
            (late,) = [name for name in run.nodes if name != run.partner]
            assert by_name[late].label != "pass" or by_name[late].alone
    for action in actions:
        if isinstance(action, Restore):
            state = by_name[action.node]
            assert state.ready
            assert state.record is not None
            assert (state.record.outcome, state.record.boot_id) == ("pass", state.boot_id)
            assert state.boot_id
            assert state.hold is not None
            assert state.record.fingerprint == wanted.fingerprint or state.hold.why == words.WHY_RESERVED
        if isinstance(action, Close):
            assert by_name[action.node].label == "pass"
    closed = {action.node for action in actions if isinstance(action, Close)}
    for state in states:
        if state.member and state.label == "pass" and not (state.ready and state.proven):
            assert state.name in closed, "an open node has passed in this boot, and is Ready"


@given(STATES, st.integers(1, 5), st.booleans())
def test_it_comes_to_rest(states: list[State], nodes: int, taint: bool) -> None:
    """What is done once is not done again: no label flaps, no event is repeated, while the nodes stay as they are."""
    wanted, now = Wanted(nodes, "f1", taint), states
    for _ in range(5):
        actions = decide(now, NOW, wanted)
        now = [after(state, actions) for state in now]
    assert [action for action in decide(now, NOW, wanted) if not isinstance(action, Measure | Reserve)] == []


def after(state: State, actions: list[Action]) -> State:
    """The node when the actions are done; a measurement goes on for ever."""
    for action in actions:
        match action:
            case Close(state.name, why, _):
                state = replace(state, label="", hold=Hold(why, state.boot_id))
            case Restore(state.name):
                state = replace(state, label="pass", hold=None, tainted=False)
            case Clear(state.name):
                state = replace(state, hold=None, tainted=False)
            case Lock(state.name):
                state = replace(state, tainted=True)
            case Unlock(state.name):
                state = replace(state, tainted=False)
            case Pend(state.name, reason, why):
                state = replace(state, hold=Hold(why, state.boot_id, reason))
            case Measure(names, _) if state.name in names:
                state = replace(state, running=True)
    return state


ALONE = replace(TWO, single_node_ok=True)
BY_ITSELF = replace(PASSED, alone=True)


def test_a_late_node_is_measured_alone_only_where_that_is_wished_and_no_partner_is_idle() -> None:
    busy = [good("a", busy=True), good("b", running=True)]
    assert decide([*busy, new("c")], NOW, TWO) == [Pend("c", NO_PARTNER), Reserve(1)]
    assert decide([*busy, new("c")], NOW, ALONE) == [Measure(("c",), alone=True)]
    assert decide([good("a"), good("b"), new("c")], NOW, ALONE) == [pair("c", "a")], "a partner is better"
    assert decide([*busy, new("c", busy=True)], NOW, ALONE) == [Pend("c", BUSY, words.WHY_BUSY)]


def test_nobody_is_opened_alone_where_nobody_is_known_good() -> None:
    """Then the whole group is measured, once it is there."""
    actions = decide([new("a")], NOW, ALONE)
    assert [type(each) for each in actions] == [Pend]
    assert decide([new("a"), new("b")], NOW, ALONE) == [Measure(("a", "b"))]


def test_a_node_that_was_opened_alone_is_no_partner() -> None:
    states = [good("a", busy=True), good("b", record=BY_ITSELF), new("c")]
    assert decide(states, NOW, TWO) == [Pend("c", NO_PARTNER), Reserve(1, but=("b",))]
    assert decide(states, NOW, ALONE) == [Measure(("c",), alone=True)]


def test_a_node_that_was_opened_alone_is_measured_once_a_partner_is_free() -> None:
    lone = good("b", record=BY_ITSELF)
    assert decide([good("a", busy=True), lone], NOW, ALONE) == []
    assert decide([good("a"), lone], NOW, ALONE) == [pair("b", "a")]
    assert decide([good("a"), lone], NOW, TWO) == [pair("b", "a")], "also where the wish was taken back"
    assert decide([good("a"), replace(lone, busy=True)], NOW, ALONE) == [], "nobody is disturbed"
    assert decide([good("a"), lone, new("c")], NOW, ALONE) == [pair("c", "a")], "closed ones first"
    assert decide([good("a"), good("d", record=BY_ITSELF), lone], NOW, ALONE) == [pair("b", "a")]


def test_a_closed_node_keeps_no_taint_where_the_hold_is_the_label() -> None:
    failed = replace(PASSED, outcome="fail")
    closed = good("b", label="fail", record=failed, tainted=True)
    assert decide([good("a"), closed], NOW, TWO) == [Unlock("b")]
    assert decide([good("a"), closed], NOW, replace(TWO, taint=True)) == []
    assert decide([good("a"), good("b", label="", hold=RESERVED, running=True, tainted=True)], NOW, TWO) == []


def test_a_pair_with_a_reserved_partner_takes_one_place_not_two() -> None:
    under_way = [new(f"c{number}", running=True) for number in range(2)]
    partners = [good(f"a{number}", label="", hold=RESERVED, running=True) for number in range(2)]
    states = [*under_way, *partners, good("b0"), good("b1"), good("b2"), new("d0"), new("d1"), new("d2")]
    measured = [action for action in decide(states, NOW, TWO) if isinstance(action, Measure)]
    assert measured == [pair("d0", "b0"), pair("d1", "b1")], f"{MOST_RUNS} pairs in all"


def test_nobody_is_reserved_while_all_places_are_taken() -> None:
    under_way = [new(f"c{number}", running=True) for number in range(MOST_RUNS + 1)]
    actions = decide([*under_way, good("a", busy=True), new("d")], NOW, TWO)
    assert actions == [Pend("d", NO_PARTNER)]


def test_nodes_alone_are_no_more_at_a_time_than_pairs() -> None:
    states = [good("a", busy=True), *(new(f"n{number}") for number in range(MOST_RUNS + 2))]
    measured = [each for each in decide(states, NOW, ALONE) if isinstance(each, Measure)]
    assert len(measured) == MOST_RUNS
