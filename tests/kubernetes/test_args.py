"""The args of the components: the same keys as the spec, each documented."""

import ast
import inspect
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpufabric import spec
from gpufabric.kubernetes import args as args_module
from gpufabric.kubernetes.args import (
    FabricGateArgs,
    FabricProfileArgs,
    JobQueueArgs,
    KubernetesTrainingStackArgs,
    NcclValidationArgs,
    NodeGroupArgs,
    SchedulerArgs,
    ValidationArgs,
)

MODELS: dict[Any, type[BaseModel]] = {
    FabricProfileArgs: spec.FabricProfile,
    NodeGroupArgs: spec.NodeGroupSpec,
    SchedulerArgs: spec.SchedulerSpec,
    ValidationArgs: spec.ValidationSpec,
    NcclValidationArgs: spec.GateSpec,
    FabricGateArgs: spec.GateSpec,
    JobQueueArgs: spec.QueueSpec,
    KubernetesTrainingStackArgs: spec.GroupsSpec,
}
# Keys that are ids of what another component made: none yet. The provider says which cluster it is.
HANDLES: dict[Any, set[str]] = {KubernetesTrainingStackArgs: set()}
every_args = pytest.mark.parametrize("args", list(MODELS), ids=lambda args: args.__name__)


def documented(source: object, name: str) -> dict[str, str]:
    """Each annotated key of a class with the docstring below it; empty where there is none."""
    tree = ast.parse(inspect.getsource(source))  # type: ignore[arg-type]
    (found,) = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name]
    docs = {}
    for node, after in zip(found.body, [*found.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            docs[node.target.id] = str(text)
    return docs


def plain(annotation: Any) -> Any:
    """What a hosted argument can hold: models as their args, bounds, choices and None away."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is NotRequired:
        return plain(inner[0])
    if origin is Literal:
        return str
    if origin in (Union, UnionType):
        (one,) = [each for each in inner if each is not NoneType]
        return plain(one)
    if origin in (list, dict):
        return origin[tuple(plain(each) for each in inner)]
    return next((args for args, model in MODELS.items() if model is annotation), annotation)


def test_every_args_class_has_its_model() -> None:
    assert {name for name in vars(args_module) if name.endswith("Args")} == {args.__name__ for args in MODELS}


@every_args
def test_the_keys_are_those_of_the_spec(args: Any) -> None:
    assert set(get_type_hints(args)) - HANDLES.get(args, set()) == set(MODELS[args].model_fields)


@every_args
def test_the_types_are_those_of_the_spec(args: Any) -> None:
    expected = get_type_hints(MODELS[args])
    for key, annotation in get_type_hints(args, include_extras=True).items():
        assert plain(annotation) == plain(expected[key]), key


@every_args
def test_what_is_required_is_required_in_both(args: Any) -> None:
    required = {key for key, each in MODELS[args].model_fields.items() if each.is_required()}
    assert args.__required_keys__ == required


@every_args
def test_every_key_is_documented_in_args_and_spec(args: Any) -> None:
    for source, name in ((args_module, args.__name__), (inspect.getmodule(MODELS[args]), MODELS[args].__name__)):
        docs = documented(source, name)
        inherited = {key for base in MODELS[args].__mro__[1:] for key in getattr(base, "__annotations__", {})}
        assert docs.keys() >= set(MODELS[args].model_fields) - (inherited if source is not args_module else set())
        for key, text in docs.items():
            assert len(text) > 15, f"{name}.{key} says nothing"
            assert text.strip().endswith((".", ")")), f"{name}.{key} ends without a full stop"


@every_args
def test_every_optional_key_says_its_default(args: Any) -> None:
    docs = documented(args_module, args.__name__)
    for key in args.__optional_keys__:
        text = docs[key].lower()
        assert "default" in text or "exactly one of" in text or "required" in text, f"{args.__name__}.{key}: {docs[key]}"


@every_args
def test_every_bound_of_the_spec_is_in_the_docs(args: Any) -> None:
    """Numbers that are refused are said before: ``from 1 to 4,096`` where the model has ge=1, le=4096."""
    docs = documented(args_module, args.__name__)
    for key, each in MODELS[args].model_fields.items():
        for bound in bounds(each):
            for limit in ("ge", "gt", "le", "lt"):
                value = getattr(bound, limit, None)
                if value is not None:
                    assert f"{value:,.10g}" in docs[key], f"{key}: {limit} {value} is not in {docs[key]!r}"


def bounds(field: FieldInfo) -> list[Any]:
    """The constraints of a field, also below an optional or in a container."""
    inside = [meta for each in get_args(field.annotation) for meta in getattr(each, "__metadata__", ())]
    return [*field.metadata, *(bound for meta in inside if isinstance(meta, FieldInfo) for bound in meta.metadata)]


def test_bounds_are_found_where_they_hide() -> None:
    def of(key: str, model: type[BaseModel]) -> set[str]:
        return {type(each).__name__ for each in bounds(model.model_fields[key])}

    assert {"Gt", "Le"} <= of("floor_gbytes_per_s", spec.ValidationSpec)
    assert {"Ge", "Le"} <= of("resources", spec.FabricProfile)
    assert {"Ge", "Le"} <= of("nodes", spec.NodeGroupSpec)
