"""Every example runs, small; what pages show runs in test_docs.py."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.filterwarnings("ignore:the surrogate is over-confident")  # it may be, on so few rows


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(path, capsys):
    runpy.run_path(str(path))["main"](rows=30)
    assert "gp-surrogate" in capsys.readouterr().out
