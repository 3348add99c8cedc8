"""Every rule over its fixtures, and over anything at all."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpufabric.policy import RULES, Node, Rule, Stack
from gpufabric.policy.judge import judged, notes, over
from gpufabric.policy.presets import PRESETS, Preset, preset
from gpufabric.policy.tree import UNKNOWN, Secret
from tests.policy.cases import CASES, IN_GROUP, Program, open_to_itself, template
from tests.policy.seen import made
from tools.folders import REPOSITORY

every_rule = pytest.mark.parametrize("rule", RULES, ids=[each.name for each in RULES])


def said(rule: Rule, program: Program) -> tuple[list[str], list[str]]:
    """Faults and what could not be read, of all resources."""
    stack = Stack(program)
    results = list(over([rule], program, stack, {rule.name: CASES[rule.name].settings}))
    faults = [fault for each in results for fault in each.faults]
    return faults, [each.not_checked for each in results if each.not_checked]


def test_every_rule_has_a_program_that_passes_and_one_that_fails() -> None:
    assert CASES.keys() == {each.name for each in RULES}
    assert all(each.passes and each.fails for each in CASES.values())
    assert len({each.name for each in RULES}) == len(RULES) >= 30


@every_rule
def test_a_rule_passes_what_is_right(rule: Rule) -> None:
    for number, program in enumerate(CASES[rule.name].passes):
        assert said(rule, program) == ([], []), f"program {number}"


@every_rule
def test_a_rule_finds_what_is_wrong_in_these_words(rule: Rule) -> None:
    for number, (program, text) in enumerate(CASES[rule.name].fails):
        faults, unread = said(rule, program)
        assert "\n".join(faults) == text, f"program {number}"
        assert unread == [], f"program {number}"


def test_twice_the_templates_are_twice_the_work() -> None:
    """A thousand templates share one security group: what looked at all of them for each took as long as all other rules."""

    def calls(templates: int) -> int:
        program = [*open_to_itself(), *(replace(template(links=IN_GROUP), urn=f"t{each}") for each in range(templates))]
        counted = 0

        def hear(_frame: FrameType, event: str, _arg: Any) -> None:
            nonlocal counted
            counted += event == "call"

        sys.setprofile(hear)
        try:
            list(over(RULES, program, Stack(program), {}))
        finally:
            sys.setprofile(None)
        return counted

    calls(1)  # reads the tables
    assert 1.8 * calls(100) < calls(200) < 2.1 * calls(100)


@every_rule
def test_what_a_rule_cannot_read_is_no_pass(rule: Rule) -> None:
    for number, (program, why) in enumerate(CASES[rule.name].unread):
        faults, unread = said(rule, program)
        assert unread == [why], f"program {number}"
        assert faults == [], f"program {number}"


@every_rule
def test_a_rule_says_what_why_and_what_to_do(rule: Rule) -> None:
    assert rule.says.endswith(".")
    assert rule.why.endswith(".")
    assert rule.fix.endswith(".")
    assert rule.url.endswith(f"#{rule.name}")
    for each in rule.settings:
        assert each.schema["default"] == each.default
    if rule.name != "dev-scales-to-zero":
        assert (rule.dev, rule.prod) in {("advisory", "advisory"), ("advisory", "mandatory"), ("mandatory", "mandatory")}


def test_what_could_not_be_checked_is_one_line_per_rule() -> None:
    from tests.policy.cases import template

    rule = next(each for each in RULES if each.name == "nic-layout")
    program = [template(f"t{number}", instanceType=UNKNOWN) for number in range(5)]
    why = "(instanceType is not known before the update)"
    expected = f"not checked: 5 resources: t0 {why}, t1 {why}, t2 {why} and 2 more"
    assert notes(over([rule], program, Stack(), {})) == {"nic-layout": expected}


@pytest.mark.parametrize("name", PRESETS)
def test_the_presets_lie_beside_the_pack(name: Preset) -> None:
    """Written anew with GPUFABRIC_REGOLD=1."""
    file = REPOSITORY / "policies" / f"{name}.json"
    if "GPUFABRIC_REGOLD" in os.environ:
        file.write_text(preset(name), encoding="utf-8")
    assert file.read_text("utf-8") == preset(name)


# --- anything at all

KINDS = sorted({kind.replace("*", "x") for each in RULES for kind in each.kinds})


def words(value: Any) -> Iterator[str]:
    """Every key of the fixtures: random programs that use them get further into the rules."""
    if isinstance(value, Secret):
        value = value.value
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from words(each)
    if isinstance(value, list):
        for each in value:
            yield from words(each)


def texts(value: Any) -> Iterator[str]:
    """Every text of the fixtures."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


PROGRAMS = [program for each in CASES.values() for program in (*each.passes, *(program for program, _ in each.fails))]
TREES = [resource.props.value for program in PROGRAMS for resource in program]
KEYS = sorted({word for tree in TREES for word in words(tree)})
TEXTS = sorted({text for tree in TREES for text in texts(tree)})
LEAVES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    3,
    2.5,
    float("nan"),
    float("inf"),
    1 << 70,
    UNKNOWN,
    "",
    "7",
    "$",
    "é\0",
    "[",
    {},
    [],
)


def tree(dice: Random, depth: int = 0) -> Any:
    """Any value, out of the fixtures' words: such a one gets further into the rules."""
    roll = dice.random()
    if depth < 4 and roll < 0.25:
        return {dice.choice(KEYS): tree(dice, depth + 1) for _ in range(dice.randrange(4))}
    if depth < 4 and roll < 0.4:
        return [tree(dice, depth + 1) for _ in range(dice.randrange(3))]
    if roll < 0.45:
        return Secret(tree(dice, depth + 1))
    return dice.choice(LEAVES) if roll < 0.75 else dice.choice(TEXTS)


def changed(old: Any, dice: Random, depth: int = 0) -> Any:
    """A copy with another value at one place."""
    if not isinstance(old, dict | list) or not old or (depth and dice.random() < 0.15):
        return tree(dice) if depth else {}
    copy = dict(old) if isinstance(old, dict) else list(old)
    key = dice.choice(list(old)) if isinstance(old, dict) else dice.randrange(len(old))
    copy[key] = changed(old[key], dice, depth + 1)
    return copy


def any_program(dice: Random) -> Program:
    """A fixture with some places changed, and resources of any kind with anything in them."""
    program = list(dice.choice(PROGRAMS))
    for _ in range(dice.randrange(3)):
        position = dice.randrange(len(program))
        program[position] = replace(program[position], props=Node(changed(program[position].props.value, dice)))
    for number in range(dice.randrange(3)):
        links = {dice.choice(KEYS): (dice.choice(program).urn,) for _ in range(dice.randrange(3))}
        props = {dice.choice(KEYS): tree(dice) for _ in range(dice.randrange(6))}
        program.append(replace(made(dice.choice(KINDS), f"any{number}", links=links), props=Node(props)))
    return program


@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_no_program_crashes_a_rule(seed: int) -> None:
    """The dice are ours: Hypothesis' own draws cost five times as much as the rules."""
    program = any_program(Random(seed))  # noqa: S311
    stack = Stack(program)
    for resource in program:
        for rule in RULES:
            if rule.covers(resource.kind):
                result = judged(rule, resource, stack, {})
                assert "" not in result.faults
