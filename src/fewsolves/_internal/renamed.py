"""Old names of arguments and attributes, kept for one release with a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed_argument(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept the keyword argument `old` for `new`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def accept(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                _warn(f"{old}=", f"{new}=", stacklevel=3)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return accept

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """A read-only property `old` that returns the attribute `new`."""

    def get(instance: Any) -> Any:
        _warn(f".{old}", f".{new}", stacklevel=3)
        return getattr(instance, new)

    return property(get, doc=f"Old name of `{new}`.")


def _warn(old: str, new: str, *, stacklevel: int) -> None:
    warnings.warn(
        f"{old} is now {new}; the next release removes the old name", DeprecationWarning, stacklevel=stacklevel
    )
