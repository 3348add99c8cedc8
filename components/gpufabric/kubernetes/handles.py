"""Args of a component: plain wishes, which the spec models read, and handles, which other resources may yield."""

from collections.abc import Mapping, Set
from typing import Any

from pulumi import Output


def wishes(args: Any, handles: Set[str]) -> Any:
    """The args without the keys of ``handles``; what is no mapping stays what it is, for the spec model to refuse."""
    return {key: value for key, value in args.items() if key not in handles} if isinstance(args, Mapping) else args


def given(args: Any, handles: Set[str]) -> set[str]:
    """Those of ``handles`` that the args have."""
    return handles & args.keys() if isinstance(args, Mapping) else set()


def known(value: Any, placeholder: str) -> Any:
    """What a spec model can read in the place of an id: the id itself, or ``placeholder`` for an Output."""
    return placeholder if isinstance(value, Output) else value
