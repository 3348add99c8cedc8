"""Problems as text: path, reason, fix, rule."""

from datetime import date

import pytest

from gpufabric.spec import Problem, SpecError, dotted
from gpufabric.spec.problems import shown


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("nodes", "too few"), "nodes: too few"),
        (Problem("nodes", "too few", "write 2"), "nodes: too few; write 2"),
        (Problem("nodes", "too few", "write 2", "AWS EC2, 2026-07"), "nodes: too few; write 2 (AWS EC2, 2026-07)"),
        (Problem("", "found nothing", "write a mapping"), "found nothing; write a mapping"),
    ],
)
def test_a_problem_is_one_line(problem: Problem, text: str) -> None:
    assert str(problem) == text


@pytest.mark.parametrize(
    ("path", "prefix", "whole"),
    [
        ("nodes", "gpufabric:stack", "gpufabric:stack.nodes"),
        ("[0].nodes", "node_groups", "node_groups[0].nodes"),
        ('["a b"]', "gpufabric:stack", 'gpufabric:stack["a b"]'),
        ("", "gpufabric:stack", "gpufabric:stack"),
        ("nodes", "", "nodes"),
    ],
)
def test_a_problem_seen_from_further_out(path: str, prefix: str, whole: str) -> None:
    assert Problem(path, "x").below(prefix) == Problem(whole, "x")
    assert SpecError([Problem(path, "x")]).below(prefix).problems == (Problem(whole, "x"),)


def test_an_error_says_every_problem_once_in_order() -> None:
    first, second = Problem("b", "one"), Problem("a", "two")
    error = SpecError([first, second, first])
    assert error.problems == (first, second)
    assert str(error) == "b: one\na: two"


@pytest.mark.parametrize(
    ("loc", "path"),
    [
        (("node_groups", 0, "nodes"), "node_groups[0].nodes"),
        (("node_selector", "gpufabric.dev/pool"), 'node_selector["gpufabric.dev/pool"]'),
        (("a\nb",), '["a\\nb"]'),
        (("\ud800",), '["\\ud800"]'),
        (("x" * 63,), "x" * 63),
        (("x" * 500,), f'["{"x" * 75}..."]'),
        (("x " * 500,), f'["{"x " * 37}x..."]'),
        ((), ""),
    ],
    ids=range(8),
)
def test_paths(loc: tuple[str | int, ...], path: str) -> None:
    assert dotted("", loc) == path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (2.5, "2.5"),
        (10**5000, "a number of over 4983 digits"),
        ("it's", '"it\'s"'),
        ("two\nlines", "'two\\nlines'"),
        ("x" * 500, f"'{'x' * 75}...'"),
        (date(2026, 11, 29), "the date 2026-11-29"),
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
        (object(), "a Python object of type object"),
    ],
    ids=range(13),
)
def test_values_are_shown_as_written(value: object, text: str) -> None:
    assert shown(value) == text
