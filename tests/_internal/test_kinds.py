from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from fewsolves._internal.kinds import check_kinds, is_kind


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, int),
        (1, float),
        (1.5, float),
        (float("nan"), float),
        (None, None),
        (None, int | None),
        ("a", str),
        ("of a newer version", Literal["a", "b"]),
        ([1, 2.5], list[float]),
        ([], Sequence[int]),
        ([1, "x"], tuple[int, str]),
        ((1, 2, 3), tuple[int, ...]),
        ({"a": {"b": 1}}, dict[str, Mapping[str, int]]),
        (object(), Any),
        (True, bool),
    ],
)
def test_kinds_what_is_stated_fits(value, hint):
    assert is_kind(value, hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1.5, int),
        (True, int),
        (True, float),
        (2**63, int),
        (10**400, float),
        ("1", float),
        (None, str),
        ("\ud800", str),
        ("\ud800", Literal["a"]),
        ({"\ud800": 1}, dict[str, int]),
        (3, str | None),
        (3, Literal["a"]),
        ("ab", list[str]),
        ([1, None], list[float]),
        ([1], tuple[int, str]),
        ({"a": "b"}, dict[str, int]),
        ([["a", 1]], dict[str, int]),
    ],
)
def test_kinds_what_is_of_another_kind_does_not(value, hint):
    assert not is_kind(value, hint)


def test_kinds_the_first_wrong_value_is_named_and_unknown_names_are_free():
    check_kinds({"a": 1, "of a newer version": object()}, {"a": int, "b": int})
    with pytest.raises(ValueError, match="'b' has a value of another kind"):
        check_kinds({"a": 1, "b": "x"}, {"a": int, "b": int})
