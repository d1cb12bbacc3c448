"""The notebooks of examples/ run, and show what they print."""

import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import notebooks  # noqa: E402

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_notebook_runs_and_shows_its_outputs(path):
    kept, new = code(nbformat.read(path, as_version=4)), code(notebooks.run(path))
    assert len(new) == len(kept) > 5
    kinds = [[{one.output_type for one in cell.outputs} for cell in cells] for cells in (kept, new)]
    assert kinds[0] == kinds[1], "python docs/site/notebooks.py refreshes them"


def test_notebooks_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["five_minutes", "keep_your_forecaster"]
