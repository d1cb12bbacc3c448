"""`fewsolves demo`: every method that fits one small benchmark, a table and a report."""

from __future__ import annotations

from pathlib import Path

import click

from fewsolves.commands.options import FOLDER


@click.command()
@click.option("--out", type=FOLDER, default=Path("runs/demo"), help="Folder for the runs and the report.")
@click.option("--benchmark", default="wsmc-10-50", help="Which benchmark; see `fewsolves benchmarks`.")
@click.option("--dataset-seed", default=0, help="Which of its datasets.")
def demo(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Train every method that fits a benchmark; print a table and write report.html."""
    from fewsolves.benchmarks.demo import run_demo

    run_demo(out, benchmark, dataset_seed)
