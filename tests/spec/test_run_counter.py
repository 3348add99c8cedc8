"""The run counter in a stack file's text: one number changes, and no other letter."""

import difflib
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpufabric.spec import SpecError, run_of, with_run
from tests.spec.specs import CPU, H100
from tools.folders import REPOSITORY

BLOCK = """\
# head
encryptionsalt: v1:abc
config:
  gpufabric:stack:
    run: 7   # somebody else's
    node_groups: []
    validation:   # of every group
      # why so low
      image: "a: {b}"   # pinned
      run: 3  # last week
      floor_gbytes_per_s: 0.02
  other:validation: {run: 9}
"""


def test_one_number_changes() -> None:
    assert run_of(BLOCK) == 3
    assert with_run(BLOCK, 4) == BLOCK.replace("run: 3  #", "run: 4  #")
    assert with_run(BLOCK, 1000) == BLOCK.replace("run: 3  #", "run: 1000  #")


FORMS = {
    "block without it": ("validation:\n      image: a:1\n", "validation:\n      run: 5\n      image: a:1\n"),
    "comment first": ("validation:\n      # c\n      image: a:1\n", "validation:\n      # c\n      run: 5\n      image: a:1\n"),
    "flow without it": ("validation: {image: a:1}\n", "validation: {run: 5, image: a:1}\n"),
    "flow over lines": ("validation: {\n      image: a:1 }\n", "validation: {run: 5, \n      image: a:1 }\n"),
    "empty flow": ("validation: {}\n", "validation: {run: 5}\n"),
    "flow with it": ("validation: {image: a:1, run: 4, wait: true}\n", "validation: {image: a:1, run: 5, wait: true}\n"),
    "in quotes": ('"validation": {"run": 4}\n', '"validation": {"run": 5}\n'),
    "last without newline": ("validation:\n      run: 4", "validation:\n      run: 5"),
    "a value that looks like it": (
        "validation:\n      image: 'run: 4'\n      run: 4\n",
        "validation:\n      image: 'run: 4'\n      run: 5\n",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_form_of_the_block(form: str, newline: str) -> None:
    head = "config:\n  gpufabric:stack:\n    "
    before, after = (f"{head}{text}".replace("\n", newline) for text in FORMS[form])
    assert with_run(before, 5) == after
    assert run_of(after) == 5


@pytest.mark.parametrize("name", ["local", "onprem-h100-infiniband"])
def test_the_samples(name: str) -> None:
    before = (REPOSITORY / "stacks" / f"Pulumi.{name}.yaml").read_text("utf-8")
    after = with_run(before, 2)
    changed = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert changed == ["+       run: 2"]


@pytest.mark.parametrize("block", [True, False, None])
@pytest.mark.parametrize("spec", [H100, CPU], ids=["h100", "cpu"])
@settings(deadline=None)
@given(run=st.integers(1, 1_000_000), were=st.none() | st.integers(1, 1_000_000))
def test_whatever_yaml_writes_reads_back(spec: dict[str, Any], block: bool | None, run: int, were: int | None) -> None:
    validation = spec["validation"] if were is None else {**spec["validation"], "run": were}
    text = yaml.safe_dump({"config": {"gpufabric:stack": {**spec, "validation": validation}}}, default_flow_style=not block)
    assert run_of(text) == were
    edited = yaml.safe_load(with_run(text, run))
    assert edited == {"config": {"gpufabric:stack": {**spec, "validation": {**spec["validation"], "run": run}}}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: b: c",
        "[" * 10_000,
        "config: {}",
        "config: {'gpufabric:stack': {validation: }}",
        "config: {'gpufabric:stack': {validation: [run]}}",
        "config: {'gpufabric:stack': 3}",
        "a: &a {run: 1}\nconfig: {'gpufabric:stack': {validation: *a}}",
        "a: &a 1\nconfig: {'gpufabric:stack': {validation: {run: *a}}}",
        "config: {'gpufabric:stack': {validation: {run: 1, run: 2}}}",
        "config: {'gpufabric:stack': {validation: {run: }}}",
        "a: 1\n---\nb: 2",
        "config: {'gpufabric:stack': {validation: {run: &r 1, other: *r}}}",
    ],
)
def test_where_it_cannot_be_put_it_is_refused(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        with_run(text, 5)
    assert str(caught.value).startswith("gpufabric:stack.validation.run: ")
    assert str(caught.value).endswith("; raise it there by hand")


@pytest.mark.parametrize(
    "text", ["", "a: b: c", "config: {}", "config: {'gpufabric:stack': {validation: {run: true}}}", "[" * 10_000]
)
def test_where_there_is_none_none_is_read(text: str) -> None:
    assert run_of(text) is None
