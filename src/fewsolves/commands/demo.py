"""`fewsolves demo`: the default on a MILP, what it gained, what it paid, what the same would have cost otherwise."""

from __future__ import annotations

from pathlib import Path

import click

from fewsolves.commands.options import FOLDER, on_one_thread


@click.command(short_help="See it work on a staffing problem, in about two minutes.")
@click.option(
    "--folder", "--out", "out", type=FOLDER, default=Path("runs/demo"), help="Folder for the runs and the report."
)
@click.option(
    "--benchmark",
    default="wsmc-10-50",
    help="A benchmark that HiGHS can solve: wsmc-10-... or kp-...; all but the default need the studies.",
)
@click.option("--dataset-seed", default=0, help="Which of its datasets.")
@on_one_thread
def demo(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Compare the default with other methods under one budget; print a table and write report.html.

    The problem is to staff shifts at the lowest cost: a MILP, which HiGHS solves.
    """
    from fewsolves.demo.demo import run_demo

    run_demo(out, benchmark, dataset_seed)
