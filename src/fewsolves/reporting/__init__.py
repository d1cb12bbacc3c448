"""What a run did, on one page: reads result folders, draws figures, writes a self-contained HTML file.

    report(model, "report.html")                # of a fitted model: `fs.report`
    report("runs/kp-weights", "report.html")    # of all runs below a folder

Begin with `page.py`: it puts together runs (read), groups (by method), tables, notes and figures.
`fewsolves.reporting.figures` draws the same pictures for a paper or a notebook, `fs.plot` by one call.
May be imported by everything above `runs`, and by users; it trains nothing and pays for nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewsolves.reporting.run_sources import read_run, read_runs, runs_of
from fewsolves.reporting.runs import Run

if TYPE_CHECKING:
    from fewsolves.reporting import figures
    from fewsolves.reporting.page import report, write_report

__all__ = ["Run", "figures", "read_run", "read_runs", "report", "runs_of", "write_report"]


def __getattr__(name: str) -> Any:
    """Pages and figures are imported when first used: runs can be read without matplotlib and jinja2."""
    if name not in ("figures", "report", "write_report"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = import_module(f"{__name__}.{'figures' if name == 'figures' else 'page'}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("jinja2", "markupsafe", "matplotlib"):
            raise
        raise ImportError(
            f"fewsolves.reporting draws with matplotlib and writes with jinja2, and {missing} is not installed: "
            "pip install 'fewsolves[report]'"
        ) from error
    return found if name == "figures" else getattr(found, name)
