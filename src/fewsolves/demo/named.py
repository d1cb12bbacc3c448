"""Problems by name, of packages that bring some: `--benchmark NAME`.

A package names a module with `NAMES`, `load` and `run` under the entry point group `fewsolves.problems`. That of this
repository is `studies`, which is not on any package index.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from fewsolves.demo.benchmark import Benchmark
from fewsolves.errors import InputError

PROBLEM_ENTRY_POINTS = "fewsolves.problems"


class NamedProblems(Protocol):
    """The interface of such a module."""

    NAMES: tuple[str, ...]

    def load(self, name: str, seed: int = 0, **options: object) -> Benchmark:
        """One dataset."""

    def run(self, benchmark: Benchmark, method: str, *, callbacks: Sequence[Any] = (), **options: Any) -> Any:
        """Train a method on it: an object with `fit`, `result` and `write`."""


def named_problems() -> NamedProblems:
    """Those of the package that is installed."""
    for found in entry_points(group=PROBLEM_ENTRY_POINTS):
        return cast(NamedProblems, found.load())
    raise InputError(
        "benchmarks are part of the package fewsolves-studies, which is not installed: "
        "pip install --editable studies, in a checkout of fewsolves"
    )
