"""The benchmarks as `fewsolves` finds them by name: the entry point of the group `fewsolves.problems`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewsolves_studies.benchmarks.catalogue import NAMES, load

if TYPE_CHECKING:
    from fewsolves_studies.benchmarks.run import BenchmarkRun

__all__ = ["NAMES", "load", "run"]


def run(*arguments: Any, **options: Any) -> BenchmarkRun:
    """As `benchmarks.run.run`, imported when it is called: it brings torch."""
    from fewsolves_studies.benchmarks import run as module

    return module.run(*arguments, **options)
