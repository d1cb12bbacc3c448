"""Run the notebooks of examples/ and keep what they print and draw: `python docs/site/notebooks.py`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "examples"
LIMIT = 1200  # seconds of a cell
COLOURS = re.compile(r"\x1b\[[\d;]*m")
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2024; --muted: #5b646d; --cell: #f5f5f5; --rule: #d5dade }
@media (prefers-color-scheme: dark) {
  :root { --paper: #111111; --ink: #e6e9ec; --muted: #9aa3ab; --cell: #212121; --rule: #424242 } }
body { margin: 0; padding: 12px; background: var(--paper); color: var(--ink) }
body { font: 14px/1.45 "DejaVu Sans", sans-serif }
pre { margin: 0; font: 12.5px/1.4 "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere }
pre.in { padding: 8px; background: var(--cell); border: 1px solid var(--rule) }
div.out { padding: 8px 0 14px 8px; overflow-x: auto }
div.out table { border-collapse: collapse; font-size: 12.5px }
div.out td, div.out th { padding: 3px 8px; text-align: right; border: 0 }
div.out tbody tr:nth-child(odd) { background: var(--cell) }
img { max-width: 100%; background: white }
"""  # the tones and tables of JupyterLab


def executed(
    notebook: nbformat.NotebookNode,
    folder: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    allow_errors: bool = False,
) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in a folder; raises where a cell fails, unless errors are allowed."""
    options = {"timeout": LIMIT, "allow_errors": allow_errors, "resources": {"metadata": {"path": str(folder)}}}
    NotebookClient(notebook, **options).execute(**({} if env is None else {"env": dict(env)}))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in an empty folder; raises where a cell fails."""
    with tempfile.TemporaryDirectory() as empty:
        return executed(nbformat.read(path, as_version=4), empty)


def page(notebook: nbformat.NotebookNode) -> str:
    """The code cells of a notebook and their outputs as a page, as Jupyter shows them."""
    shown = [
        f'<pre class="in">{escape(cell.source)}</pre><div class="out">{"".join(map(_shown, cell.outputs))}</div>'
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return f"<!doctype html><html><head>{head}<style>{STYLE}</style></head><body>{''.join(shown)}</body></html>"


def _shown(output: nbformat.NotebookNode) -> str:
    """One output: the richest form of it that Jupyter would take."""
    data = output.get("data", {})
    if "text/html" in data:
        return str(data["text/html"])
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"]}">'
    if output.output_type == "error":
        return f"<pre>{escape(f'{output.ename}: {output.evalue}')}</pre>"
    return f"<pre>{escape(COLOURS.sub('', str(data.get('text/plain', output.get('text', '')))))}</pre>"


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(run(path), path)
