"""One set of run folders for all tests of the report, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fewsolves.reporting import Run, read_runs

from .made_up import METHODS, write_runs


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Five methods on three datasets."""
    return read_runs(write_runs(tmp_path_factory.mktemp("few")))


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Sixteen methods on five datasets."""
    return read_runs(write_runs(tmp_path_factory.mktemp("many"), METHODS, seeds=5))


@pytest.fixture(scope="session")
def two_benchmarks(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """One with PFL, one without."""
    folder: Path = tmp_path_factory.mktemp("two")
    write_runs(folder, ("pfl", "sfge", "gp-surrogate"), seeds=2, benchmark="kp-values", pfl_regret=128.0)
    write_runs(folder, ("sfge", "gp-surrogate"), seeds=2, benchmark="wsmc-10-50", pfl_regret=287_000.0)
    return read_runs(folder)
