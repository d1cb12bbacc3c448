"""What a run did, on one page: reads result folders, draws figures, writes a self-contained HTML file.

    runs = read_runs("runs/kp-weights")
    write_report(runs, "report.html", title="Knapsack with unknown weights")

Begin with `page.py`: it puts together runs (read), groups (by method), tables, notes and figures.
`fewsolves.reporting.figures` draws the same pictures for a paper or a notebook.
May be imported by benchmarks, paper, commands, and by users; it trains nothing and pays for nothing.
"""

from __future__ import annotations

try:
    from fewsolves.reporting.page import write_report
    from fewsolves.reporting.runs import Run, read_run, read_runs
except ModuleNotFoundError as error:
    missing = (error.name or "").partition(".")[0]
    if missing not in ("jinja2", "markupsafe", "matplotlib"):
        raise
    raise ImportError(
        f"fewsolves.reporting draws with matplotlib and writes with jinja2, and {missing} is not installed: "
        "pip install 'fewsolves[report]'"
    ) from error

__all__ = ["Run", "read_run", "read_runs", "write_report"]
