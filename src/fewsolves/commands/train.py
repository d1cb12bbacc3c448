"""`fewsolves train`: one method on one dataset of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fewsolves.commands.options import FOLDER, assignments, benchmark_options, budget_options, solving_options
from fewsolves.text import clean

if TYPE_CHECKING:
    from fewsolves.benchmarks.run import BenchmarkRun

RESULT_ONLY = Path("runs/train")  # where the result goes without a folder of the run


@click.command()
@benchmark_options
@click.option("--method", required=True, help="Which method; see `fewsolves methods`.")
@click.option(
    "--out",
    "folder",
    type=FOLDER,
    help="Folder of the run: every solve is on record there, and the same command goes on where it stopped.  "
    f"[default: {RESULT_ONLY}, for the result only]",
)
@click.option("--ledger", type=FOLDER, help="Folder of a ledger that several runs share.  [default: that of --out]")
@click.option("--adopt", is_flag=True, help="Take the ledger over although the problem has changed.")
@click.option("--predictor", default="linear", help="linear (the paper's), network, or auto: the better start.")
@click.option("--seed", default=0, help="Seed of the training.")
@solving_options
@budget_options
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=assignments,
    help="A setting of the method, e.g. --set patience=20; see `fewsolves methods NAME`.",
)
@click.option("--data", multiple=True, callback=assignments, help="A data option, e.g. --data penalty=5.")
def train(
    benchmark: str, method: str, dataset_seed: int, folder: Path | None, data: dict[str, Any], **options: Any
) -> None:
    """Train one method on one dataset; write OUT/history.csv and OUT/result.json."""
    from fewsolves.benchmarks.catalogue import load
    from fewsolves.benchmarks.run import run
    from fewsolves.training.progress import Progress

    with Progress(f"{method} on {benchmark}") as progress:  # the other options are those of a plan
        done = run(load(benchmark, dataset_seed, **data), method, folder=folder, callbacks=[progress], **options)
    _tell(done, folder or RESULT_ONLY)
    if done.fit.interrupted:
        raise KeyboardInterrupt


def _tell(done: BenchmarkRun, folder: Path) -> None:
    done.write(folder)
    result = done.result
    what = f"{result['method']} on {result['benchmark']}, dataset {result['dataset_seed']}"
    click.echo(f"{what}: test regret {result['test_regret']:.4g}")
    click.echo(f"{result['solves_per_instance']:.2f} solves per training example; {clean(result['stopped'])}")
    for message in result["warnings"]:
        click.echo(f"note: {clean(message)}")
    click.echo(f"wrote {folder / 'result.json'} and {folder / 'history.csv'}")
