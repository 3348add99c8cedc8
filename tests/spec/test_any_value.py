"""Whatever stands under ``gpufabric:stack``: a plan, or problems in our words, one line each. Never a traceback."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpufabric.spec import FabricProfile, NodeGroupSpec, SpecError, TrainingSpec, ValidationSpec
from tests.spec.specs import CPU, H100, changed, plan_of, with_value

# What pydantic, Python or a parser would say, and we do not.
JARGON = re.compile(
    r"Traceback|pydantic|[Ii]nput should|validation error|valid dictionary|(?<!machine)(?<!ami)(?<!disk)_type\b|type=|"
    r"<class|<object|object at 0x|"
    r"\bNone\b|\bTrue\b|\bFalse\b|datetime\.|Error\b"
)
WORDS = sorted(
    {*TrainingSpec.model_fields, *NodeGroupSpec.model_fields, *FabricProfile.model_fields, *ValidationSpec.model_fields}
    | {"existing", "kubeconfig", "context", "region", "capacity", "storage", "secure", "nvidia.com/gpu", "rdma/ib"}
)
VALUES = [
    "kubernetes",
    "aws",
    "slurm",
    "cpu",
    "H100:8",
    "infiniband",
    "ethernet",
    "best",
    "standard",
    "mpi",
    "nccl",
    "8G",
    "a:1",
]
text = st.sampled_from(VALUES) | st.text(st.characters(exclude_categories=()), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text | st.dates() | st.just(10**400)
keys = st.sampled_from(WORDS) | text | st.integers(-1, 3) | st.none() | st.dates()
json_like = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


def read(raw: object) -> None:
    """Read it, and check what is said about it."""
    try:
        plan_of(raw)
    except SpecError as error:
        checked(error)


def checked(error: SpecError) -> None:
    """Every problem is one line, in our words, with something to do."""
    assert error.problems
    for problem in error.problems:
        line = str(problem)
        assert line.isprintable()
        assert len(line) < 700
        # Without what the user wrote: it stands in the path, and in quotes.
        ours = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "''", f"{problem.reason}; {problem.fix}")
        assert not JARGON.search(ours), line
        assert problem.fix, line


@settings(max_examples=300, deadline=None)
@given(json_like)
@example({"cloud": "kubernetes", "node_groups": [{"name": "\ud800"}]})
@example({"cloud": "kubernetes", "node_groups": [], "cluster": {"\ud800": None}})
@example({"cloud": {"a": 1}, "node_groups": None})
@example({"cloud": "kubernetes", None: 1, True: 2, 1.5: 3, date(2026, 1, 1): 4})
@example({"cloud": "kubernetes", "node_groups": [None, 3, [], {None: None}]})
@example({"cloud": "kubernetes", "None": 1, "node_groups": [{"True": 1}]})
def test_any_value_is_a_plan_or_problems(raw: object) -> None:
    read(raw)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of all values in ``value``, its own among them."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


PROFILED = changed(
    CPU,
    group__profile={
        "resources": {"rdma/ib": 1},
        "hcas": ["mlx5"],
        "interface": "eth0",
        "environment": {"NCCL_X": "1"},
        "image": "a:1",
    },
    cluster={"existing": {"kubeconfig": "/k", "context": "c"}},
)
PLACES = [(spec, path) for spec in (H100, CPU, PROFILED) for path in places(spec) if path]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PLACES), json_like)
@example((H100, ("node_groups", 0, "node_selector", "pool")), 10**5000)
@example((H100, ("validation", "floor_gbytes_per_s")), 10**400)
@example((PROFILED, ("node_groups", 0, "profile", "environment")), {"NCCL_DEBUG": "WARN", "GATE_ROOT": "", "A": "\udfff"})
@example((PROFILED, ("node_groups", 0, "profile", "resources")), {"nvidia.com/gpu": 1})
def test_any_value_at_any_place_of_a_good_spec(place: tuple[dict[str, Any], tuple[str | int, ...]], value: object) -> None:
    read(with_value(*place, value))
