"""Checked settings: frozen dataclasses whose fields carry their meaning, their type and their range.

    @settings
    class ShiftConfig:
        "Settings of the search."

        step: float = setting("width of the first grid", default=0.25, above=0)

The type is the annotation's: int, float, bool, str, a Literal, a tuple of these, and any of them or None. A value that
does not fit raises an `InputError` with the name, the value and what is allowed, when the object is made. Numbers of
numpy become Python's; a bool is no number. The documentation of the class lists its settings, for `help()` and an API
reference; so does `fewsolves methods NAME`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
import textwrap
import types
from typing import Any, Literal, NamedTuple, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from fewsolves.errors import InputError

T = TypeVar("T")
_KEY = "setting"  # in the metadata of a field
_REFUSED = object()  # what a value that does not fit becomes


class Range(NamedTuple):
    """The meaning of a setting, and the bounds of its number."""

    meaning: str = ""
    above: float | None = None
    least: float | None = None
    most: float | None = None
    since: str | None = None  # the version that it came with, where runs were recorded before
    without: Any = _REFUSED  # with this value a run is what it was before the setting came

    def holds(self, value: float) -> bool:
        """Whether a number lies within; NaN and infinity never do."""
        return (
            (isinstance(value, int) or math.isfinite(value))
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f" between {self.least:g} and {self.most:g}"
        if self.above is not None and self.most is not None:
            return f" above {self.above:g} and at most {self.most:g}"
        bounds = {"above": self.above, "of at least": self.least, "of at most": self.most}
        return "".join(f" {words} {bound:g}" for words, bound in bounds.items() if bound is not None)


def setting(
    meaning: str,
    *,
    default: T = dataclasses.MISSING,  # type: ignore[assignment]
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    since: str | None = None,
    without: Any = _REFUSED,
) -> T:
    """A field of a `settings` class: what it is, and the bounds of a number; without a default it must be given.

    A setting that comes to a class of which runs are on record names the version that it came with (`since`): those
    runs had its default, or did `without` it, and stay the same runs (`values_of`).
    """
    made: T = dataclasses.field(default=default, metadata={_KEY: Range(meaning, above, least, most, since, without)})
    return made


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting, dataclasses.field))
def settings(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, keyword-only dataclass that checks its values, and document it by them.

    A `__post_init__` of the class, called afterwards, checks settings against each other.
    """
    across = getattr(cls, "__post_init__", None)

    def check(self: Any) -> None:
        for one in settings_of(type(self)):
            given = getattr(self, one.name)
            taken = one.check(given)
            if taken is not given:
                object.__setattr__(self, one.name, taken)
        if across is not None:
            across(self)

    cls.__post_init__ = check  # type: ignore[attr-defined]
    made = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    lines = [inspect.cleandoc(cls.__doc__ or ""), "", "Attributes:"]
    for one in settings_of(made):
        lines.append(textwrap.fill(f"{one.name}: {one}", 116, initial_indent=4 * " ", subsequent_indent=8 * " "))
    made.__doc__ = "\n".join(lines)
    return made


class Setting(NamedTuple):
    """One setting of a class."""

    name: str
    kind: Any  # the annotation, resolved
    default: Any  # `dataclasses.MISSING` where it must be given
    range: Range

    @property
    def meaning(self) -> str:
        return self.range.meaning

    @property
    def allowed(self) -> str:
        """In words: "a whole number of at least 1 or None"."""
        return _listed([words for kind in _alternatives(self.kind) for words in _words(kind, self.range)])

    def check(self, value: Any) -> Any:
        """The value as the setting keeps it; raises where it is not allowed."""
        for kind in _alternatives(self.kind):
            taken = _taken(kind, value, self.range)
            if taken is not _REFUSED:
                return taken
        raise InputError(f"{self.name} must be {self.allowed}, got {value!r:.80}")

    def __str__(self) -> str:
        default = "" if self.default is dataclasses.MISSING else f"; default {self.default!r}"
        return f"{self.meaning} ({self.allowed}{default})".lstrip()


def settings_of(config: Any) -> list[Setting]:
    """The settings of a class, or of an object with its values as defaults; of other dataclasses, without meanings."""
    cls = config if isinstance(config, type) else type(config)
    kinds = _kinds(cls)
    return [
        Setting(
            field.name,
            kinds[field.name],
            field.default if isinstance(config, type) else getattr(config, field.name),
            field.metadata.get(_KEY, Range()),
        )
        for field in dataclasses.fields(cls)
    ]


def values_of(config: Any) -> dict[str, Any]:
    """The settings of an object by name, as the records of runs have them."""
    left_out = as_before(config)
    return {name: value for name, value in dataclasses.asdict(config).items() if name not in left_out}


def identity_of(config: Any) -> str:
    """The settings of an object in one line, by which a run is known when it is started again."""
    left_out = as_before(config)
    if not left_out:
        return repr(config)
    shown = [f"{one.name}={one.default!r}" for one in settings_of(config) if one.name not in left_out]
    return f"{type(config).__qualname__}({', '.join(shown)})"


def as_before(config: Any) -> set[str]:
    """Settings that came later (`since`), and have not been changed or change nothing."""
    known = [(field, field.metadata.get(_KEY, Range())) for field in dataclasses.fields(config)]
    return {
        field.name
        for field, setting in known
        if setting.since and getattr(config, field.name) in (field.default, setting.without)
    }


@functools.cache
def _kinds(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _taken(kind: Any, value: Any, bounds: Range) -> Any:
    """`value` as this kind keeps it, or `_REFUSED`."""
    if kind is Any:
        return value
    if kind in (int, float):
        return _number(kind, value, bounds)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), value, bounds)
    if get_origin(kind) is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else _REFUSED
    if kind is bool and isinstance(value, np.bool_):
        return bool(value)
    return value if isinstance(value, get_origin(kind) or kind) else _REFUSED


def _number(kind: type, value: Any, bounds: Range) -> Any:
    """A whole number stays one where a fraction is allowed; 1e6 is a whole number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return _REFUSED
    number: float = int(value) if isinstance(value, numbers.Integral) else float(value)
    if kind is int and isinstance(number, float):
        if not number.is_integer():
            return _REFUSED
        number = int(number)
    return number if bounds.holds(number) else _REFUSED


def _tuple(kinds: tuple[Any, ...], value: Any, bounds: Range) -> Any:
    if not isinstance(value, tuple | list) or len(value) != len(kinds):
        return _REFUSED
    taken = tuple(_taken(kind, part, bounds) for kind, part in zip(kinds, value, strict=True))
    return _REFUSED if any(part is _REFUSED for part in taken) else taken


def _words(kind: Any, bounds: Range) -> list[str]:
    if get_origin(kind) is Literal:
        return [repr(value) for value in get_args(kind)]
    if kind is bool:
        return ["True", "False"]
    if kind in (int, float):
        return [f"a {'whole ' if kind is int else ''}number{bounds}"]
    if get_origin(kind) is tuple:
        return [f"{len(get_args(kind))} numbers"]
    return [{str: "a text", type(None): "None", Any: "anything"}.get(kind, str(kind))]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
