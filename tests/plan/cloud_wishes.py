"""What is planned for a wish for a cloud, and what is said of a bad one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import strategies as st

from gpufabric.plan.cloud_model import CloudStackPlan
from gpufabric.spec import SpecError, parse_spec
from tests.spec.specs import changed
from tests.spec.test_any_value import checked, places

S = TypeVar("S")
P = TypeVar("P", bound=CloudStackPlan)
NOW = datetime(2026, 11, 29, tzinfo=UTC)


@dataclass(frozen=True)
class Wishes(Generic[S, P]):
    """A good wish for a cloud (``base``), and how its specs become plans."""

    base: dict[str, Any]
    model: type[S]
    resolve: Callable[[S, str, datetime], P]

    def spec_of(self, raw: dict[str, Any]) -> S:
        """The wish; raises SpecError."""
        spec = parse_spec(raw)
        assert isinstance(spec, self.model)
        return spec

    def plan_of(self, raw: dict[str, Any], now: datetime = NOW) -> P:
        """The plan at ``now``; raises SpecError."""
        return self.resolve(self.spec_of(raw), "prod", now)

    def with_group(self, **changes: Any) -> dict[str, Any]:
        """The good wish with changes of its only group, such as ``machine_type="p4d.24xlarge"``."""
        return changed(self.base, **{f"group__{key}": value for key, value in changes.items()})

    def says(self, raw: dict[str, Any]) -> list[str]:
        """The lines that a bad wish is answered with; fails on a good one."""
        with pytest.raises(SpecError) as caught:
            self.plan_of(raw)
        return str(caught.value).split("\n")

    def says_of_group(self, **changes: Any) -> list[str]:
        """The lines for the only group, without its path."""
        return [line.removeprefix("node_groups[0].") for line in self.says(self.with_group(**changes))]

    def read(self, raw: object) -> None:
        """Plan whatever it is, and check what is said about it: never a traceback."""
        try:
            spec = parse_spec(raw)
            if isinstance(spec, self.model):
                self.resolve(spec, "prod", NOW)
        except SpecError as error:
            checked(error)


def any_place(*specs: dict[str, Any]) -> st.SearchStrategy[tuple[dict[str, Any], tuple[str | int, ...]]]:
    """A spec and a place in it, but its top."""
    return st.sampled_from([(spec, path) for spec in specs for path in places(spec) if path])
