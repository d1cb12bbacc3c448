"""The methods that there are, by name: every module of this package that ends in `METHOD = ...` or `METHODS = ...`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from fewsolves import methods
from fewsolves.errors import InputError
from fewsolves.methods.base import Method

DEFAULT = "staged"  # where nothing is said


def _found() -> Iterator[Method]:
    for module in pkgutil.walk_packages(methods.__path__, f"{methods.__name__}."):
        if module.name != __name__:
            content = vars(import_module(module.name))
            yield from content.get("METHODS", ())
            yield from filter(None, [content.get("METHOD")])


METHODS: dict[str, Method] = {method.name: method for method in sorted(_found(), key=lambda one: one.name != "pfl")}
"""Prediction-focused learning first, where the others start; then by their files."""


def find_method(method: str | Method) -> Method:
    """A recipe by its name."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; there is {', '.join(METHODS)}")
    return METHODS[method]
