"""The scripts behind the committed results: they are run by hand, so a name that moved would go unnoticed."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_finds_everything_that_it_imports(script, monkeypatch):
    monkeypatch.syspath_prepend(script.parent)
    runpy.run_path(str(script), run_name="imported")
