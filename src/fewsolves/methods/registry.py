"""The registry of methods by name: every module of this package that ends in `METHOD = ...` or `METHODS = ...`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from fewsolves import methods
from fewsolves._internal.text import meant
from fewsolves.errors import InputError
from fewsolves.methods.base import Trainer

DEFAULT = "staged"  # the method without `method=`


class _Methods(Mapping[str, Trainer]):
    """All methods by name. A method whose file or folder has its name is imported alone: others need torch.

    `gp-surrogate-paper` is found in the folder of `gp-surrogate`.
    """

    @cached_property
    def _all(self) -> dict[str, Trainer]:
        return {method.name: method for method in sorted(_found(), key=lambda one: one.name != "pfl")}

    def __getitem__(self, name: str) -> Trainer:
        if "_all" in vars(self):
            return self._all[name]
        file = name.replace("-", "_").replace("+", "_plus")
        parts = file.split("_")
        files = ["_".join(parts[:n]) for n in range(len(parts), 0, -1)]
        found = (one for file in files for one in _found(file) if one.name == name)
        return next(found, None) or self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


METHODS: Mapping[str, Trainer] = _Methods()
"""Prediction-focused learning first, where the others start; then by their files, in whichever folder."""


def _found(part: str | None = None) -> Iterator[Trainer]:
    """The methods of all modules, or of the file or folder of this name."""
    for own, module in _modules():
        if module != __name__ and part in (None, own):
            content = vars(_imported(module))
            yield from content.get("METHODS", ())
            yield from filter(None, [content.get("METHOD")])


def _imported(module: str) -> ModuleType:
    """The module; an empty one where it needs torch, which is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return ModuleType(module)


def _has_torch() -> bool:
    try:
        return find_spec("torch") is not None
    except ModuleNotFoundError:
        return False


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    """File or folder of a method, and the module, sorted: a folder's own files, and not what lies deeper."""
    found = []
    for module in pkgutil.walk_packages(methods.__path__, f"{methods.__name__}."):
        first, *rest = module.name.split(".")[2:]
        if len(rest) < 2:
            found.append((rest[0] if first == "comparison" and rest else first, module.name))
    return tuple(sorted(found))


def find_method(method: str | Trainer) -> Trainer:
    """A method by its name, or the method itself."""
    if isinstance(method, Trainer):
        return method
    try:
        return METHODS[method]
    except (KeyError, AttributeError, TypeError):
        known = meant(method, METHODS, listed="`fewsolves methods` lists all")
        more = "" if _has_torch() else "; more come with torch: pip install 'fewsolves[torch]'"
        raise InputError(f"unknown method {method!r:.80}; {known}{more}") from None
