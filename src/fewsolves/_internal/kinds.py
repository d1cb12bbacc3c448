"""Whether values from a JSON file have the kinds that annotations state, before anything is made of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

MAX_INT = 2**63 - 1


def check_kinds(facts: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise ValueError for the first value in `facts` that is not what the hint of its name states."""
    for name, value in facts.items():
        if name in hints and not is_kind(value, hints[name]):
            raise ValueError(f"{name!r} has a value of another kind than a run writes")


def is_kind(value: Any, hint: Any) -> bool:
    """Whether a value is of this kind: numbers, text, None, lists, tuples and mappings of these, and unions.

    A literal stands for all values of its type, since older and newer versions have other ones. Numbers have to fit
    into 64 bits, and text into UTF-8.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType, Literal):
        return any(is_kind(value, type(one) if origin is Literal else one) for one in inner)
    if origin is not None:
        return _is_container(value, origin, inner)
    if hint in (int, float):
        return _is_number(value, whole=hint is int)
    if hint is str:
        return isinstance(value, str) and _is_text(value)
    return hint is Any or isinstance(value, NoneType if hint is None else hint)


def _is_container(value: Any, origin: type, inner: Sequence[Any]) -> bool:
    """Whether a value is a mapping, tuple or list, as `origin` says, of the inner kinds."""
    if issubclass(origin, Mapping):
        fits = isinstance(value, Mapping)
        return fits and all(is_kind(k, inner[0]) and is_kind(v, inner[1]) for k, v in value.items())
    if issubclass(origin, tuple) and inner[-1] is not Ellipsis:
        fits = isinstance(value, list | tuple) and len(value) == len(inner)
        return fits and all(is_kind(one, kind) for one, kind in zip(value, inner, strict=True))
    assert issubclass(origin, Sequence), origin
    return isinstance(value, list | tuple) and all(is_kind(one, inner[0]) for one in value)


def _is_number(value: Any, *, whole: bool) -> bool:
    if type(value) is int:
        return abs(value) <= (MAX_INT if whole else sys.float_info.max)
    return type(value) is float and not whole


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON may have
        return False
    return True
