"""`fewsolves demo`: every method on one small dataset, a table, and a report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from fewsolves.benchmarks.catalogue import load
from fewsolves.benchmarks.regret_landscapes import landscape_slice, smoothing_by_importance
from fewsolves.benchmarks.run import BenchmarkRun, run
from fewsolves.methods.registry import METHODS
from fewsolves.reporting import figures, read_runs, write_report
from fewsolves.training.progress import Progress

ROWS = 200  # few rows and epochs, so that all methods together take some two minutes
SHORT = {"start_epochs": 200, "max_epochs": 100, "patience": 15}


def run_demo(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Train, print and write OUT/report.html, with one folder per method beside it."""
    console = Console()
    dataset = load(benchmark, dataset_seed, n=ROWS)
    done: dict[str, BenchmarkRun] = {}
    for name, method in METHODS.items():
        reason = method.refuse(dataset.problem)
        if reason is not None:
            console.print(f"{name} is left out: {reason}", style="dim", soft_wrap=True)
            continue
        with Progress(name) as progress:
            done[name] = run(dataset, name, settings=SHORT, callbacks=[progress])
        done[name].write(out / name)
        console.print(f"{name}: test regret {done[name].result['test_regret']:.4g}", style="dim")
    console.print(_table(benchmark, done))
    slice_ = landscape_slice(done["gp-surrogate"].fit)
    pictures = {
        "A slice through the regret of one example, from its truth (0) through its final prediction (1): the true "
        "regret, the same averaged over random draws, and what the surrogate believes.": figures.landscape(**slice_),
        "Stochastic smoothing (figure 1 of the paper): one set of samples serves every level of smoothing.": (
            figures.smoothing(**smoothing_by_importance())
        ),
    }
    path = write_report(
        read_runs(out), out / "report.html", title=f"fewsolves demo: {benchmark}", extra_figures=pictures
    )
    console.print(f"report: {path}", soft_wrap=True)


def _table(benchmark: str, done: dict[str, BenchmarkRun]) -> Table:
    table = Table(title=f"{benchmark}, {ROWS} rows, linear predictor; regret on 2,000 fresh rows")
    table.add_column("method", no_wrap=True)
    for heading in ("regret", "relative to PFL", "solves per example", "all solves", "seconds"):
        table.add_column(heading, justify="right", min_width=8 if heading == "regret" else None)
    pfl = done["pfl"].result["fresh_regret"]
    for name, one in sorted(done.items(), key=lambda item: float(item[1].result["fresh_regret"])):
        result = one.result
        table.add_row(
            name,
            f"{result['fresh_regret']:.3g}",
            f"{result['fresh_regret'] / pfl:.2f}" if pfl else "–",  # PFL leaves nothing to gain on the toy problem
            f"{result['solves_per_instance']:.1f}",
            f"{result['total_solves_per_instance']:.1f}",
            f"{result['seconds']['total']:.1f}",
        )
    return table
