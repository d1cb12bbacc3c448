"""Run the notebooks of examples/ and keep what they print and draw: `python docs/site/notebooks.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "examples"
LIMIT = 1200  # seconds of a cell


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in an empty folder; raises where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as empty:
        NotebookClient(notebook, timeout=LIMIT, resources={"metadata": {"path": empty}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(run(path), path)
